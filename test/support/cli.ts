import { spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
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

/** Runs the built executable as a process of its own. */
export function runBinary(
  args: readonly string[],
  options: Pick<RunOptions, 'env' | 'stdin'> = {},
): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const [program, ...words] = commandLine(args)
    const child = spawn(program, words, { env: { PATH: process.env['PATH'], ...options.env } })
    const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
    child.once('error', reject)
    child.once('close', code => {
      const [out, err] = [Buffer.concat(stdout).toString(), Buffer.concat(stderr).toString()]
      const ran = { code: code ?? -1, stdout: out, stderr: err }
      try {
        expectNoKeyIn(args, options.env ?? {}, options.stdin ?? '', ran)
        resolve(ran)
      } catch (error) {
        reject(error)
      }
    })
    child.stdin.on('error', () => {}) // it may end before it has read everything
    child.stdin.end(options.stdin ?? '')
  })
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
