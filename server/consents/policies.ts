import { LRUCache } from 'lru-cache'
import type { Sql } from 'postgres'
import { findPolicyVersions } from './queries.ts'

const maxSites = 10_000

/** Caches without expiry: a record is not written if its version has changed. */
export class Policies {
  readonly #versions = new LRUCache<string, number>({ max: maxSites })

  /** Returns maybe outdated versions by site id, without other accounts' sites. */
  async guess(sql: Sql, accountId: string, siteIds: readonly string[]): Promise<Map<string, number>> {
    const guesses = new Map<string, number>()
    for (const id of siteIds) {
      const version = this.#versions.get(accountId + id)
      if (version !== undefined) guesses.set(id, version)
    }
    const unknown = siteIds.filter(id => !guesses.has(id))
    if (unknown.length === 0) return guesses
    return new Map([...guesses, ...(await this.read(sql, accountId, unknown))])
  }

  async read(sql: Sql, accountId: string, siteIds: readonly string[]): Promise<Map<string, number>> {
    const versions = await findPolicyVersions(sql, accountId, siteIds)
    for (const id of siteIds) this.#versions.delete(accountId + id)
    for (const [id, version] of versions) this.#versions.set(accountId + id, version)
    return versions
  }
}
