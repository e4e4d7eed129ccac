import type { FastifyRequest } from 'fastify'
import type { RetryOptions } from '../db/errors.ts'
import { unavailable } from '../failure.ts'
import { getDiagnostics } from './logging.ts'

/** All waits of one request for the database together. */
export const databaseTimeoutMs = 5000

declare module 'fastify' {
  interface FastifyRequest {
    timeLeftMs: number
  }
}

/**
 * Waits for work within what is left of the request's time, and subtracts the wait.
 * @throws Failure `unavailable` at the timeout. The work is not stopped.
 */
export function withinDeadline<T>(request: FastifyRequest, work: Promise<T>): Promise<T> {
  const start = performance.now()
  const timeLeftMs = readTimeLeft(request)
  return withTimeout(work, timeLeftMs, () => {
    request.timeLeftMs = Math.max(0, timeLeftMs - (performance.now() - start))
  })
}

/** Only idempotent work is retried after a lost connection. */
export function retryOptions(request: FastifyRequest, isIdempotent: boolean): RetryOptions {
  return {
    isIdempotent,
    budgetMs: readTimeLeft(request),
    onRetry: code => getDiagnostics(request).retries.push(code),
  }
}

/** A request whose URL cannot be decoded has no decorations. */
function readTimeLeft({ timeLeftMs = databaseTimeoutMs }: FastifyRequest): number {
  return timeLeftMs
}

/**
 * Calls `onEnd` at the end of the work or at the timeout, whichever comes first.
 * @throws Failure `unavailable` at the timeout. The work is not stopped.
 */
export function withTimeout<T>(work: Promise<T>, timeoutMs: number, onEnd = () => {}): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(unavailable('The database did not answer in time.', { code: 'DEADLINE' }))
    }, timeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  }).finally(onEnd)
}
