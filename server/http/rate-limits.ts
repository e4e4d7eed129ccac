import '@fastify/rate-limit'
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { Failure } from '../failure.ts'

/** At most so many requests in so many seconds. */
export interface Limit {
  readonly max: number
  readonly seconds: number
}

/** Counters that this node keeps of a limit at most: what was seen longest ago goes first. */
const countersKept = 50_000

type KeyOf = (request: FastifyRequest) => string

/**
 * A limit on the requests that have the same key, counted by this node alone. The result throws `rate_limited` with
 * Retry-After where a request is one too many.
 */
export function limiter(
  app: FastifyInstance,
  limit: Limit,
  keyOf: KeyOf,
): (request: FastifyRequest) => Promise<void> {
  const count = app.createRateLimit(optionsOf(limit, keyOf))
  return async request => {
    const outcome = await count(request)
    if (!outcome.isAllowed && outcome.isExceeded) throw tooMany(outcome.ttlInSeconds)
  }
}

/**
 * The same for attempts, of which only those count that end in `unauthorized`. Those under way count as if they did: many
 * at once are no more than one after the other.
 */
export function attemptLimiter(app: FastifyInstance, limit: Limit, keyOf: KeyOf) {
  const count = app.createRateLimit(optionsOf(limit, keyOf))
  const underWay = new Map<string, number>()
  return async <T>(request: FastifyRequest, attempt: () => Promise<T>): Promise<T> => {
    const outcome = await count(request, { increment: false })
    const key = keyOf(request)
    const others = underWay.get(key) ?? 0
    if (!outcome.isAllowed && others >= outcome.remaining) throw tooMany(outcome.ttlInSeconds)
    underWay.set(key, others + 1)
    try {
      return await attempt()
    } catch (error) {
      if (error instanceof Failure && error.code === 'unauthorized') await count(request)
      throw error
    } finally {
      const left = (underWay.get(key) ?? 1) - 1
      if (left > 0) underWay.set(key, left)
      else underWay.delete(key)
    }
  }
}

/** The plugin's types do not know that each limit has counters of its own, and 5000 unless said. */
function optionsOf({ max, seconds }: Limit, keyGenerator: KeyOf) {
  return {
    max,
    timeWindow: seconds * 1000,
    cache: countersKept,
    keyGenerator,
  }
}

function tooMany(seconds: number): Failure {
  return new Failure('rate_limited', 'Too many requests.', {
    headers: { 'retry-after': String(Math.max(1, seconds)) },
  })
}

/** The address that a request comes from, while its client is there; null where a proxy names none. Some add a port. */
export function clientAddress({ ip }: FastifyRequest): string | null {
  const address = (ip ?? '').replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3').replace(/%.*$/, '')
  return isIP(address) === 0 ? null : address
}

/**
 * Whom an address stands for: IPv6 is given out by networks of /64 or larger, IPv4 by single addresses. What a proxy
 * names no address for counts as the proxy's own.
 */
export function networkKey(request: FastifyRequest): string {
  const address = ipaddr.process(clientAddress(request) ?? request.socket.remoteAddress ?? '::')
  if (address.kind() === 'ipv4') return address.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()
}
