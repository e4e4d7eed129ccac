import '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../failure.ts'

export interface Limit {
  readonly max: number
  readonly seconds: number
}

const maxCounters = 50_000

type KeyOf = (request: FastifyRequest) => string

/** Returns a function that throws Failure `rate_limited` with Retry-After. Counts on this node alone. */
export function limitRequests(
  app: FastifyInstance,
  limit: Limit,
  keyOf: KeyOf,
): (request: FastifyRequest) => Promise<void> {
  const count = app.createRateLimit(pluginOptions(limit, keyOf))
  return async request => {
    const result = await count(request)
    if (!result.isAllowed && result.isExceeded) throw rateLimited(result.ttlInSeconds)
  }
}

/** Limits attempts that end in `unauthorized`. Running ones count too, so concurrency gains nothing. */
export function limitFailedAttempts(app: FastifyInstance, limit: Limit, keyOf: KeyOf) {
  const count = app.createRateLimit(pluginOptions(limit, keyOf))
  const running = new Map<string, number>()
  return async <T>(request: FastifyRequest, attempt: () => Promise<T>): Promise<T> => {
    const result = await count(request, { increment: false })
    const key = keyOf(request)
    const others = running.get(key) ?? 0
    if (!result.isAllowed && others >= result.remaining) throw rateLimited(result.ttlInSeconds)
    running.set(key, others + 1)
    try {
      return await attempt()
    } catch (error) {
      if (error instanceof Failure && error.code === 'unauthorized') await count(request)
      throw error
    } finally {
      const left = (running.get(key) ?? 1) - 1
      if (left > 0) running.set(key, left)
      else running.delete(key)
    }
  }
}

/** `cache`, which the plugin's types lack, gives each limit separate counters. */
function pluginOptions({ max, seconds }: Limit, keyGenerator: KeyOf) {
  return { max, timeWindow: seconds * 1000, cache: maxCounters, keyGenerator }
}

function rateLimited(seconds: number): Failure {
  return new Failure('rate_limited', 'Too many requests.', {
    headers: { 'retry-after': String(Math.max(1, seconds)) },
  })
}
