import type { FastifyRequest } from 'fastify'
import { databaseTimeoutMs, type RetryOptions } from '../db/errors.ts'
import { unavailable } from '../failure.ts'
import { getDiagnostics } from './logging.ts'

declare module 'fastify' {
  interface FastifyRequest {
    timeLeftMs: number
  }
}

/**
 * Limits a wait to the request's remaining time, which it reduces.
 * @throws Failure `unavailable`
 */
export function withinDeadline<T>(request: FastifyRequest, work: Promise<T>): Promise<T> {
  const start = performance.now()
  const timeLeftMs = readTimeLeft(request)
  return withTimeout(work, timeLeftMs, () => {
    request.timeLeftMs = Math.max(0, timeLeftMs - (performance.now() - start))
  })
}

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
 * The work goes on.
 * @throws Failure `unavailable` at the timeout
 */
export function withTimeout<T>(work: Promise<T>, timeoutMs: number, onEnd = () => {}): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(unavailable('The request could not be answered in time.', { code: 'DEADLINE' }))
    }, timeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  }).finally(onEnd)
}
