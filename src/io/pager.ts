import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { CliError, exit } from '../errors/errors.ts'
import type { Host } from './io.ts'

/** A pager on the terminal; it may be left before everything is written. */
export interface Pager {
  readonly closed: boolean
  write(text: string): Promise<void>
  /** Resolves when its user has left it. Throws a CliError where it could not be run. */
  end(): Promise<void>
}

/** Starts the user's pager, as other tools do: PAGER through the shell, else less, which ends by itself for a screenful. */
export function openPager({ env }: Pick<Host, 'env'>): Pager {
  const command = env['PAGER'] || 'less'
  const surroundings = { LESS: 'FRX', ...env }
  const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env: surroundings })
  const ended = once(child, 'close')
  ended.catch(() => {}) // it is told at the end
  let closed = false
  child.stdin.on('error', () => {
    closed = true
  })
  return {
    get closed() {
      return closed
    },
    write: text =>
      new Promise(resolve => {
        if (closed || text === '') return resolve()
        child.stdin.write(text, () => resolve())
      }),
    end: async () => {
      child.stdin.end()
      const [code] = await ended
      if (code === 126 || code === 127)
        throw new CliError('io', exit.failure, `the pager "${command}" cannot be run`, { hint: 'set PAGER' })
    },
  }
}
