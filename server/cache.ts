import { LRUCache } from 'lru-cache'

/** Revoked credentials stop working within 1 s; lru-cache expires entries after the TTL. */
export const cacheTtlMs = 999

const maxEntries = 10_000

interface Lookup<T> {
  readonly promise: Promise<T | undefined>
  value: T | undefined
}

/**
 * LRU cache of 10,000 entries, without misses and errors. By default they expire a second after the start of the lookup.
 */
export class Cache<T> {
  readonly #lookups = new LRUCache<string, Lookup<T>>({
    max: maxEntries,
    ttl: cacheTtlMs,
    ttlResolution: 0, // otherwise ages are up to 1 ms too small
    perf: { now: () => performance.now() },
  })
  readonly #ttlOf: (value: T) => number
  #clears = 0

  /** `ttlOf` returns milliseconds: 0 for a value that is not cached, Infinity for one that never changes. */
  constructor(ttlOf: (value: T) => number = () => cacheTtlMs) {
    this.#ttlOf = ttlOf
  }

  peek(key: string): T | undefined {
    return this.#lookups.get(key)?.value
  }

  /** Concurrent calls share a lookup. */
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

  async getMany(
    keys: readonly string[],
    load: (missing: string[]) => Promise<Map<string, T>>,
  ): Promise<Map<string, T>> {
    const found = new Map<string, T>()
    for (const key of keys) {
      const value = this.peek(key)
      if (value !== undefined) found.set(key, value)
    }
    if (keys.every(key => found.has(key))) return found
    const clears = this.#clears
    const start = performance.now()
    for (const [key, value] of await load(keys.filter(key => !found.has(key)))) {
      found.set(key, value)
      const ttl = this.#ttlOf(value)
      const lookup = { promise: Promise.resolve(value), value }
      if (ttl === Number.POSITIVE_INFINITY) this.#lookups.set(key, lookup, { ttl: 0 })
      else if (ttl > 0 && clears === this.#clears) this.#lookups.set(key, lookup, { ttl, start })
    }
    return found
  }

  delete(keys: readonly string[]): void {
    for (const key of keys) this.#lookups.delete(key)
  }

  /** Drops running lookups and cached values, except those that never expire. */
  clear(): void {
    this.#clears += 1
    for (const key of [...this.#lookups.keys()])
      if (Number.isFinite(this.#lookups.getRemainingTTL(key))) this.#lookups.delete(key)
  }
}
