import type { Sql } from 'postgres'
import { findPolicyVersions } from './queries.ts'

const capacity = 10_000

/**
 * The current policy versions of sites as this node last read them. A guess, which saves a question for each record: what
 * is written with one must be refused where the site has another by now.
 */
export class Policies {
  readonly #versions = new Map<string, number>()

  /** By the sites' ids, what the node knows, or else reads; nothing of a site that the account has not. */
  async guess(sql: Sql, accountId: string, siteIds: readonly string[]): Promise<Map<string, number>> {
    const guesses = new Map<string, number>()
    const unknown: string[] = []
    for (const id of siteIds) {
      const version = this.#versions.get(accountId + id)
      if (version === undefined) unknown.push(id)
      else guesses.set(id, version)
    }
    if (unknown.length === 0) return guesses
    return new Map([...guesses, ...(await this.read(sql, accountId, unknown))])
  }

  /** What the sites have now. */
  async read(sql: Sql, accountId: string, siteIds: readonly string[]): Promise<Map<string, number>> {
    const versions = await findPolicyVersions(sql, accountId, siteIds)
    if (this.#versions.size >= capacity) this.#versions.clear()
    for (const id of siteIds) this.#versions.delete(accountId + id)
    for (const [id, version] of versions) this.#versions.set(accountId + id, version)
    return versions
  }
}
