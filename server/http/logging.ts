import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Logger, pino } from 'pino'
import type { ErrorCode } from '../../src/contract/index.ts'
import type { Load } from '../admission.ts'
import type { Caller } from '../auth/caller.ts'
import { dbErrorCode, dbErrorKind } from '../db/errors.ts'
import type { Failure } from '../failure.ts'

/**
 * What may be told of a request once it is over. Nothing that a client has written is in it: no URL, no header, no body,
 * and no error's own words, for those quote rows and fields.
 */
export interface Outcome {
  readonly requestId: string
  readonly method: string
  /** The route's template; null where there is none. */
  readonly route: string | null
  /** 499 where the client was gone before the answer was out. */
  readonly status: number
  readonly milliseconds: number
  readonly accountId: string | null
  readonly callerKind: Caller['kind'] | null
  readonly error: ErrorCode | null
  /** Why it failed, where that was not the client's fault. */
  readonly fault: Fault | null
  /** The codes of database errors after which it was tried again. */
  readonly retries: readonly string[]
}

export interface Fault {
  /** A sentence of this program's. */
  readonly message: string
  /** The kind of the error behind it. */
  readonly cause: string | null
  /** The code of an error of the database. */
  readonly code: string | null
  /** Where the error came from, without its message. */
  readonly stack: readonly string[]
}

/** Whoever counts what the service does. */
export interface Observer {
  answered(outcome: Outcome): void
  /** Gives it a look at the requests of a flow that work and wait, whenever it wants one. */
  watch(flow: 'private' | 'public', look: () => Load): void
}

interface Notes {
  failure: Failure | null
  readonly retries: string[]
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Made when first asked for. A WeakMap of requests would cost the garbage collector more than the requests do. */
    notes: Notes | null
  }
}

/** What is to be told of a request when it is over. */
export function notesOf(request: FastifyRequest): Notes {
  request.notes ??= { failure: null, retries: [] }
  return request.notes
}

/** Tells of a request when its answer is out, or its client is gone. */
export function onOutcome(
  request: FastifyRequest,
  { raw }: FastifyReply,
  tell: (outcome: Outcome) => void,
): void {
  const start = performance.now()
  raw.once('close', () => {
    const { failure, retries } = notesOf(request)
    tell({
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url ?? null,
      status: raw.writableFinished ? raw.statusCode : 499,
      milliseconds: performance.now() - start,
      accountId: request.caller?.accountId ?? null,
      callerKind: request.caller?.kind ?? null,
      error: failure?.code ?? null,
      fault: failure && faultOf(failure),
      retries,
    })
  })
}

/** Codes of failures that are this side's fault; what is turned away because there is too much of it has no cause. */
const ours = new Set<ErrorCode>(['internal_error', 'unavailable'])

function faultOf({ code, message, cause }: Failure): Fault | null {
  const isBug = dbErrorKind(cause) === 'unstorable'
  const isShed = code === 'unavailable' && cause === undefined
  if (isShed || (!ours.has(code) && !isBug)) return null
  return {
    message: isBug ? 'a value reached the database that a check before it should have refused' : message,
    cause: cause instanceof Error ? cause.name : null,
    code: dbErrorCode(cause),
    stack: framesOf(cause),
  }
}

/** How many lines of a stack are told. */
const depth = 5

/** The places in an error's stack; none where they cannot be told from its message for certain. */
function framesOf(error: unknown): string[] {
  if (!(error instanceof Error) || !error.stack) return []
  const start = error.stack.indexOf(error.message)
  if (start === -1) return []
  const places = error.stack.slice(start + error.message.length).split('\n')
  return places
    .map(line => line.trim())
    .filter(line => /^at \S/.test(line))
    .slice(0, depth)
}

/** As much of a logger as is used. */
export type Log = Pick<Logger, 'info' | 'error'>

/** Milliseconds from one write to the next: lines between them are written together, for a write costs more than they do. */
const patience = 50

/** How many characters wait at most. */
const most = 8192

/** JSON lines on stderr; one that tells of an error, and all before it, at once. */
export function createLogger(level: string): Logger {
  const stderr = pino.destination({ dest: 2, sync: true })
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting === '') return
    const text = waiting
    waiting = ''
    timer = setTimeout(flush, patience).unref()
    stderr.write(text) // never flushSync, which tries for ever where stderr is closed or its disk full
  }
  process.once('exit', flush)
  const lines = {
    [Symbol.for('pino.metadata')]: true, // has pino tell the level of each line
    lastLevel: 0,
    write(line: string) {
      waiting += line
      if (!timer || waiting.length > most || pino.levels.labels[this.lastLevel] === 'error') flush()
    },
  }
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines)
}

/** One line a request, with what may be told of it and nothing else. */
export function logOutcome(logger: Log, outcome: Outcome): void {
  const { requestId, method, route, status, milliseconds, accountId, callerKind, error, fault, retries } =
    outcome
  logger[fault ? 'error' : 'info'](
    {
      request_id: requestId,
      method,
      route,
      status,
      ms: Math.round(milliseconds),
      ...(accountId && { account_id: accountId, caller: callerKind }),
      ...(error && { error }),
      ...(fault && { cause: fault.cause, code: fault.code, stack: fault.stack }),
      ...(retries.length > 0 && { retries }),
    },
    fault?.message ?? 'request',
  )
}
