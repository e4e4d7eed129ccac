import { LRUCache } from 'lru-cache'
import type { Sql } from 'postgres'
import { findHeld, type HeldNotice, type SiteVersion } from './held-queries.ts'

export type { HeldNotice, SiteVersion } from './held-queries.ts'

const ttlMs = 999

const maxEntries = 10_000

export interface Found {
  /** Null until a checkpoint covers the publication. */
  readonly notice: HeldNotice | null
  /** True if each consent needs a published notice. */
  readonly isStrict: boolean
}

const unheld: Found = { notice: null, isStrict: false }

/**
 * Caches held notices without expiry, and a version without a notice for 1 s from the start of its lookup; never on a
 * strict site, which would reject consents meanwhile.
 */
export class PublishedNotices {
  readonly #held = new LRUCache<string, Found>({ max: maxEntries })
  readonly #unheld = new LRUCache<string, Found>({
    max: maxEntries,
    ttl: ttlMs,
    ttlResolution: 0,
    perf: { now: () => performance.now() },
  })
  #generation = 0

  peek(accountId: string, { siteId, version }: SiteVersion): Found | undefined {
    const key = keyOf(accountId, siteId, version)
    return this.#held.get(key) ?? this.#unheld.get(key)
  }

  /** Reads in one statement. Results are in the order of `wanted`. */
  async find(sql: Sql, accountId: string, wanted: readonly SiteVersion[]): Promise<Found[]> {
    const found = wanted.map(one => this.peek(accountId, one))
    if (found.every(one => one !== undefined)) return found
    const generation = this.#generation
    const start = performance.now()
    const unknown = wanted.filter((_, index) => !found[index])
    const rows = await findHeld(sql, accountId, unknown)
    const results = new Map(rows.map(row => [keyOf(accountId, row.siteId, row.version), toFound(row)]))
    for (const [key, result] of results) {
      if (result.notice) this.#held.set(key, result)
      else if (!result.isStrict && generation === this.#generation) this.#unheld.set(key, result, { start })
    }
    return wanted.map(
      ({ siteId, version }, index) => found[index] ?? results.get(keyOf(accountId, siteId, version)) ?? unheld,
    )
  }

  /** Drops versions without a notice, and running lookups. */
  clear(): void {
    this.#generation += 1
    this.#unheld.clear()
  }
}

function keyOf(accountId: string, siteId: string, version: number): string {
  return `${accountId} ${siteId} ${version}`
}

function toFound({ notice, isStrict }: { notice: HeldNotice | null; isStrict: boolean }): Found {
  return { notice, isStrict }
}
