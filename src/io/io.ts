import type { ReadStream, WriteStream } from 'node:tty'
import { CliError, type Exit, exit } from '../errors/errors.ts'

/** The process; tests pass a fake. */
export interface Host {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: string
  readonly version: string
  readonly pid: number
  readonly stdin: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>> & { destroy?(): unknown }
  readonly stdout: Stream
  readonly stderr: Stream
  on(signal: (typeof signals)[number], listener: () => void): unknown
  /** @throws if there is no such process */
  kill(pid: number, signal: 0): unknown
  off(signal: (typeof signals)[number], listener: () => void): unknown
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const // Ctrl-C, kill, a closed terminal

type Stream = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>

interface Sink {
  readonly stream: Stream
  readonly isTerminal: boolean
  /** Width of the terminal, else COLUMNS, else 80. */
  readonly columns: number
  readonly color: boolean
  /** True if the reader closed it. */
  readonly closed: boolean
  write(content: string | Uint8Array): Promise<void>
}

export interface Io {
  readonly stdin: Host['stdin']
  readonly out: Sink
  readonly err: Sink
}

export const colorChoices = ['auto', 'always', 'never'] as const

export type ColorChoice = (typeof colorChoices)[number]

export function openIo(host: Host, color: () => ColorChoice): Io {
  return {
    get stdin() {
      return host.stdin // opened on access, which takes time
    },
    out: openSink(host.stdout, host.env, color),
    err: openSink(host.stderr, host.env, color),
  }
}

function openSink(stream: Stream, env: Host['env'], color: () => ColorChoice): Sink {
  let closed = false
  stream.on('error', error => {
    closed ||= isClosedPipe(error)
  })
  const isTerminal = stream.isTTY === true
  return {
    stream,
    isTerminal,
    get columns() {
      return stream.columns || Number.parseInt(env['COLUMNS'] ?? '', 10) || 80
    },
    get color() {
      return wantsColor(color(), env, isTerminal)
    },
    get closed() {
      return closed
    },
    write: content =>
      new Promise((resolve, reject) => {
        if (closed || content.length === 0) return resolve()
        stream.write(content, error => {
          if (error && !isClosedPipe(error)) return reject(cannotWrite(error))
          closed ||= Boolean(error)
          resolve()
        })
      }),
  }
}

function wantsColor(choice: ColorChoice, env: Host['env'], isTerminal: boolean): boolean {
  if (choice !== 'auto') return choice === 'always'
  if (env['NO_COLOR']) return false
  if (env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '') return env['FORCE_COLOR'] !== '0'
  return isTerminal && env['TERM'] !== 'dumb'
}

function isClosedPipe(error: unknown): boolean {
  return ['EPIPE', 'ERR_STREAM_DESTROYED'].includes(String((error as NodeJS.ErrnoException).code))
}

function cannotWrite(cause: Error): CliError {
  return new CliError('io', exit.failure, `cannot write the output: ${cause.message}`, { cause })
}

/** The first SIGINT, SIGTERM or SIGHUP aborts with the error to exit with; the next one ends the process. */
export function listenForInterruption(host: Host): AbortSignal {
  const controller = new AbortController()
  const listeners = signals.map(signal => {
    const listener = () => {
      for (const [index, each] of signals.entries()) host.off(each, listeners[index] ?? listener)
      controller.abort(interruptedError(signal === 'SIGINT' ? exit.interrupted : exit.terminated))
    }
    host.on(signal, listener)
    return listener
  })
  return controller.signal
}

export function interruptedError(code: Exit = exit.interrupted, what = ''): CliError {
  return new CliError('interrupted', code, `interrupted${what}`)
}
