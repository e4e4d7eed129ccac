import { LRUCache } from 'lru-cache'
import type { Sql } from 'postgres'
import { findHeld, type HeldNotice, type SiteVersion } from './held-queries.ts'

export type { HeldNotice, SiteVersion } from './held-queries.ts'

/** A publication or strictness counts on other nodes within 1 s. */
const ttlMs = 999

const maxEntries = 10_000

export interface Found {
  /** Null if the version is not published, or no checkpoint covers its publication yet. */
  readonly notice: HeldNotice | null
  /** True if the site takes no consent without a notice. */
  readonly isStrict: boolean
}

const unheld: Found = { notice: null, isStrict: false }

/**
 * Cache of the notices that are held: what is published never changes, so that it has no expiry. A version without a notice
 * is cached for 1 s, counted from the start of its lookup, and not at all on a strict site, whose consents it would reject.
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

  /** Returns what is cached; undefined for what has to be looked up. */
  peek(accountId: string, { siteId, version }: SiteVersion): Found | undefined {
    const key = keyOf(accountId, siteId, version)
    return this.#held.get(key) ?? this.#unheld.get(key)
  }

  /** Looks up what is not cached, in one statement. The order is that of the argument. */
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

  /** After a publication or a change of strictness on this node. A lookup that is running is not cached. */
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
