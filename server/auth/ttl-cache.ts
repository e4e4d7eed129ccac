import { LRUCache } from 'lru-cache'

/** Revoked credentials stop working within 1 s; lru-cache expires entries after the TTL. */
const ttlMs = 999

const maxEntries = 10_000

interface Lookup<T> {
  readonly promise: Promise<T | undefined>
  value: T | undefined
}

/**
 * TTL cache (1 s, 10,000 entries) with in-flight de-duplication, without misses and errors. Age counts from the start
 * of the lookup.
 */
export class TtlCache<T> {
  readonly #lookups = new LRUCache<string, Lookup<T>>({
    max: maxEntries,
    ttl: ttlMs,
    ttlResolution: 0, // otherwise ages are up to 1 ms too small
    perf: { now: () => performance.now() },
  })

  peek(key: string): T | undefined {
    return this.#lookups.get(key)?.value
  }

  async get(key: string, load: () => Promise<T | undefined>): Promise<T | undefined> {
    const known = this.#lookups.get(key)
    if (known) return known.promise
    const lookup: Lookup<T> = { promise: load(), value: undefined }
    this.#lookups.set(key, lookup)
    try {
      lookup.value = await lookup.promise
      return lookup.value
    } finally {
      const isCurrent = this.#lookups.peek(key) === lookup
      if (isCurrent && lookup.value === undefined) this.#lookups.delete(key)
    }
  }

  clear(): void {
    this.#lookups.clear()
  }
}
