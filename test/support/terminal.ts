import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { commandLine, quote } from './cli.ts'

/** A command on a pseudo-terminal, as util-linux's `script` makes one. */
export interface Terminal {
  /** Waits until the screen shows a text. */
  shows(text: string | RegExp): Promise<void>
  type(keys: string): void
  /** Everything the terminal was sent, and the exit code. */
  readonly ended: Promise<{ readonly code: number; readonly screen: string }>
}

/** True if this machine can make a pseudo-terminal. */
export const hasTerminal = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false

if (!hasTerminal) {
  process.stderr.write('\n*** SKIPPED: prompts on a pseudo-terminal. There is no `script` of util-linux here. ***\n\n')
}

/** Runs the built executable on a pseudo-terminal. */
export function openTerminal(
  args: readonly string[],
  env: Record<string, string>,
  { cwd, columns = 80 }: { cwd?: string; columns?: number } = {},
): Terminal {
  const command = `stty cols ${columns}; exec ${commandLine(args).map(quote).join(' ')}`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...env },
    ...(cwd && { cwd }),
  })
  let screen = ''
  let onData = () => {}
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      screen += String(chunk)
      onData()
    })
  }
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, screen }))
  return {
    ended,
    type: keys => void child.stdin.write(keys),
    shows: text =>
      new Promise((resolve, reject) => {
        onData = () => {
          if (typeof text === 'string' ? screen.includes(text) : text.test(screen)) resolve()
        }
        onData()
        ended.then(() => reject(new Error(`the command ended without showing ${text}: ${screen}`)), reject)
      }),
  }
}
