import '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { Failure } from '../failure.ts'

export interface Limit {
  readonly max: number
  readonly seconds: number
}

const maxCounters = 50_000

type KeyOf = (request: FastifyRequest) => string

/** Counts on this node only. @throws Failure `rate_limited` with Retry-After */
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

/** Each attempt counts while it runs. */
export function limitFailedAttempts({ max, seconds }: Limit, keyOf: KeyOf) {
  const ttl = seconds * 1000
  const attempts = new LRUCache<string, { count: number }>({ max: maxCounters, ttl })
  return async <T>(request: FastifyRequest, attempt: () => Promise<T>): Promise<T> => {
    const key = keyOf(request)
    const own = attempts.get(key) ?? { count: 0 }
    if (own.count >= max) throw rateLimited(Math.ceil(attempts.getRemainingTTL(key) / 1000))
    own.count += 1
    if (!attempts.has(key)) attempts.set(key, own)
    let isFailed = false
    try {
      return await attempt()
    } catch (error) {
      isFailed = error instanceof Failure && error.code === 'unauthorized'
      throw error
    } finally {
      if (!isFailed) own.count -= 1
      if (own.count === 0 && attempts.peek(key) === own) attempts.delete(key)
    }
  }
}

/** `cache`, which the plugin's types lack, separates the limits' counters. */
function pluginOptions({ max, seconds }: Limit, keyGenerator: KeyOf) {
  return { max, timeWindow: seconds * 1000, cache: maxCounters, keyGenerator }
}

function rateLimited(seconds: number): Failure {
  return new Failure('rate_limited', 'Too many requests.', {
    headers: { 'retry-after': String(Math.max(1, seconds)) },
  })
}
