import { setTimeout as delay } from 'node:timers/promises'
import { unavailable } from '../failure.ts'

export const databaseTimeoutMs = 5000

/** By SQLSTATE (PostgreSQL manual, appendix A) or code of the connection. */
export type DbErrorKind =
  /** The statement may have been executed. */
  | 'lost'
  | 'aborted'
  /** Not executed: another connection or a new plan may succeed. */
  | 'rejected'
  | 'unavailable'
  | 'conflict'
  | 'missing'

const connectionCodes =
  /^(E[A-Z]+|CONNECT(ION)?_\w+|ERR_(TLS|SSL)_\w+|(CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO)_\w+|DEADLINE)$/

const kinds: readonly (readonly [codes: RegExp, kind: DbErrorKind])[] = [
  [/^(57P0[125]|CONNECTION_CLOSED|ECONNRESET|EPIPE)$/, 'lost'],
  [/^(40001|40P01)$/, 'aborted'],
  [/^(25006|26000|0A000)$/, 'rejected'],
  [/^(08|28|3D|40|53|55|57|58)...$/, 'unavailable'],
  [connectionCodes, 'unavailable'],
  [/^23505$/, 'conflict'],
  [/^23503$/, 'missing'],
]

/**
 * Returns null for errors outside the database, and for bugs: a syntax error, or a value that validation should have
 * rejected (22, 54).
 */
export function dbErrorKind(error: unknown): DbErrorKind | null {
  const code = dbErrorCode(error)
  return code === null ? null : (kinds.find(([codes]) => codes.test(code))?.[1] ?? null)
}

/** True if it was rolled back, rejected or never sent. */
export function wasNotExecuted(error: unknown): boolean {
  return /^(40001|40P01|25006|26000|0A000|55P03|57014|57P03|53...|ECONNREFUSED|CONNECT_TIMEOUT)$/.test(
    dbErrorCode(error) ?? '',
  )
}

/**
 * A Citus coordinator reports a lost worker connection as XX000, with libpq's English message or none (Citus,
 * `ReportResultError` in remote_commands.c).
 */
const lostWorkerMessages = [
  'server closed the connection',
  'terminating connection',
  'could not receive data from server',
  'could not send data to server',
  'could not connect to server',
  'connection to server',
  'connection not open',
  'no connection to the server',
  'lost synchronization with server',
  'SSL SYSCALL error',
  'SSL error',
  'SSL connection has been closed',
  'connection to the remote node',
  'connection establishment for node',
  'failed to connect to',
  'failure on connection marked as essential',
  'postmaster was shut down',
] as const

function endedSession({ code, severity }: { code?: unknown; severity?: unknown }): boolean {
  return code === 'XX000' && (severity === 'FATAL' || severity === 'PANIC')
}

function isLostWorker({ code, message, where }: { code?: unknown; message?: unknown; where?: unknown }): boolean {
  if (code !== 'XX000') return false
  if (message === '') return String(where).includes('while executing command on ')
  return lostWorkerMessages.some(beginning => String(message).startsWith(beginning))
}

export function dbErrorCode(error: unknown): string | null {
  const { code } = (error ?? {}) as { code?: unknown }
  if (typeof code !== 'string') return null
  if (endedSession(error as object) || isLostWorker(error as object)) return 'CONNECTION_CLOSED'
  return connectionCodes.test(code) || /^[\dA-Z]{5}$/.test(code) ? code : null
}

/** Returns the class of a SQLSTATE, such as `40`, or `connection`. */
export function dbErrorClass(code: string): string {
  return connectionCodes.test(code) ? 'connection' : code.slice(0, 2)
}

const maxRetries: Partial<Record<DbErrorKind, number>> = { aborted: 3, rejected: 1, lost: 1 }

const backoffStepMs = 40

export interface RetryOptions {
  /** True to retry even if the first attempt may have been executed. */
  readonly isIdempotent: boolean
  readonly budgetMs: number
  readonly onRetry: (code: string) => void
}

/**
 * Retries with full jitter. If the retry after a lost connection fails, throws the first error: after an executed
 * deletion the second is "not found".
 */
export async function withRetry<T>(
  work: () => Promise<T>,
  { isIdempotent, budgetMs, onRetry }: RetryOptions,
): Promise<T> {
  const deadline = performance.now() + budgetMs
  for (let failures = 1; ; failures += 1) {
    try {
      return await work()
    } catch (error) {
      const kind = dbErrorKind(error)
      const waitMs = Math.random() * backoffStepMs * failures
      const isTooLate = performance.now() + waitMs > deadline
      if (isTooLate || failures > countRetries(kind, isIdempotent)) throw error
      onRetry(dbErrorCode(error) ?? '')
      await delay(waitMs)
      if (kind === 'lost') return await work().catch(() => Promise.reject(error))
    }
  }
}

function countRetries(kind: DbErrorKind | null, isIdempotent: boolean): number {
  if (kind === null || (kind === 'lost' && !isIdempotent)) return 0
  return maxRetries[kind] ?? 0
}

/**
 * The work continues.
 * @throws Failure `unavailable` at the timeout
 */
export function withTimeout<T>(work: Promise<T>, timeoutMs: number, onEnd = () => {}): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(unavailable('The request could not be completed in time.', { code: 'DEADLINE' }))
    }, timeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  }).finally(onEnd)
}
