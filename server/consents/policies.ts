import type { Sql } from 'postgres'
import { findPolicyVersion } from './queries.ts'

const capacity = 10_000

/**
 * The current policy versions of sites as this node last read them. A guess, which saves a question for each record: what
 * is written with one must be refused where the site has another by now.
 */
export class Policies {
  readonly #versions = new Map<string, number>()

  /** What the node knows, or else reads; undefined where the account has no such site. */
  async guess(sql: Sql, accountId: string, siteId: string): Promise<number | undefined> {
    return this.#versions.get(accountId + siteId) ?? (await this.read(sql, accountId, siteId))
  }

  /** What the site has now; undefined where the account has no such site. */
  async read(sql: Sql, accountId: string, siteId: string): Promise<number | undefined> {
    const version = await findPolicyVersion(sql, accountId, siteId)
    if (this.#versions.size >= capacity) this.#versions.clear()
    if (version !== undefined) this.#versions.set(accountId + siteId, version)
    return version
  }
}
