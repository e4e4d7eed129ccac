import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import type { ServerModule } from '../../src/contract/server.ts'
import { main } from '../../src/main.ts'
import { expectNoKeyBelow, expectNoKeyIn } from './key-leaks.ts'

/** The package's executable, as a user runs it. */
export const binary = fileURLToPath(new URL('../../bin/consentctl.cjs', import.meta.url))

/** Another executable to test in its place, which may be without the service: npm run test:all -- executable. */
const other = process.env['CONSENTCTL_TEST_BINARY']

/** The program and the arguments that run the command line with these arguments. */
export function commandLine(args: readonly string[]): [program: string, ...args: string[]] {
  const isService = args.some(word => word === 'serve' || word === 'admin')
  return other && !isService ? [other, ...args] : [process.execPath, binary, ...args]
}

/** Quotes a word for a POSIX shell: the checkout may be below a folder whose name has blanks. */
export function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

export interface RunResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly env?: Record<string, string | undefined>
  readonly stdin?: string | Uint8Array
  /** Which streams are terminals; none unless said. */
  readonly tty?: { readonly stdin?: boolean; readonly stdout?: boolean; readonly stderr?: boolean }
  readonly columns?: number
  /** Where stdout goes instead of being collected. */
  readonly stdout?: Writable
  readonly loadServer?: () => Promise<ServerModule>
  /** Emits the signals that the process receives. */
  readonly signals?: EventEmitter
}

/** Runs the command line in this process, on streams of its own: fast, and with terminals made believe. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { tty = {}, columns, stdin = '', signals = new EventEmitter() } = options
  const [stdout, stderr] = [collector(tty.stdout ?? false, columns), collector(tty.stderr ?? false, columns)]
  const stdoutStream = options.stdout ?? stdout.stream
  const input = Object.assign(Readable.from([Buffer.from(stdin)]), { isTTY: tty.stdin ?? false })
  const code = await main(
    {
      argv: ['node', 'consentctl', ...args],
      env: options.env ?? {},
      platform: process.platform,
      version: process.version,
      pid: process.pid,
      kill: (pid, signal) => process.kill(pid, signal),
      stdin: input,
      stdout: stdoutStream,
      stderr: stderr.stream,
      on: (signal, listener) => signals.on(signal, listener),
      off: (signal, listener) => signals.off(signal, listener),
    },
    options.loadServer ?? (() => Promise.reject(new Error('this test has no server'))),
  )
  const ran = { code, stdout: stdout.text(), stderr: stderr.text() }
  expectNoKeyIn(args, options.env ?? {}, stdin, ran)
  return ran
}

/** A process, and what it has written so far. */
export interface Started {
  readonly child: ChildProcessWithoutNullStreams
  readonly stderr: () => string
  readonly ended: Promise<Omit<RunResult, 'code'> & { readonly code: number | null; readonly signal: string | null }>
}

type Env = Readonly<Record<string, string | undefined>>

/** Starts the built executable. */
export function start(args: readonly string[], env: Env): Started {
  const [program, ...words] = commandLine(args)
  return startProgram(program, words, env)
}

export function startProgram(program: string, args: readonly string[], env: Env): Started {
  const child = spawn(program, args, { env: { PATH: process.env['PATH'], ...env } })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.on('error', () => {}) // it may end before it has read everything
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }))
  return { child, ended, stderr: () => stderr }
}

/** Runs the built executable. */
export async function runBinary(
  args: readonly string[],
  { env = {}, stdin = '' }: Pick<RunOptions, 'env' | 'stdin'> = {},
): Promise<RunResult> {
  const { child, ended } = start(args, env)
  child.stdin.end(stdin)
  const { code, stdout, stderr } = await ended
  const ran = { code: code ?? -1, stdout, stderr }
  expectNoKeyIn(args, env, stdin, ran)
  return ran
}

/** A folder of this test file's own, removed with it. */
export function useFolder(): { path: string } {
  const folder = { path: '' }
  beforeAll(() => {
    folder.path = mkdtempSync(join(tmpdir(), 'consentctl-'))
  })
  afterAll(() => {
    try {
      expectNoKeyBelow(folder.path)
    } finally {
      rmSync(folder.path, { recursive: true, force: true })
    }
  })
  return folder
}

function collector(isTTY: boolean, columns: number | undefined) {
  const chunks: string[] = []
  const stream = new Writable({
    write: (chunk, _encoding, callback) => {
      chunks.push(String(chunk))
      callback()
    },
  })
  return {
    stream: Object.assign(stream, { isTTY, ...(columns === undefined ? {} : { columns }) }),
    text: () => chunks.join(''),
  }
}
