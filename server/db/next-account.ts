import type { Fragment, Sql } from 'postgres'
import { dbErrorKind } from './errors.ts'

export const partialMessage = 'accounts on a cluster server that is down were skipped'

/** Condition on `account_id` in a query. */
export type Accounts = Fragment

/**
 * Finds accounts with work in one query. If that fails because a server of a Citus cluster is down, queries each
 * account of the other servers.
 */
export class NextAccount {
  readonly #sql: Sql
  #down: Set<number> | null = null
  #ahead: AccountServer[] = []

  constructor(sql: Sql) {
    this.#sql = sql
  }

  get isPartial(): boolean {
    return this.#down !== null && this.#down.size > 0
  }

  /** `after` must never decrease. */
  async find<T>(after: string, query: (accounts: Accounts) => Promise<T | undefined>): Promise<T | undefined> {
    try {
      if (!this.#down) return await query(this.#sql`> ${after}`)
    } catch (error) {
      if (!isLoss(error) || !(await isCitus(this.#sql))) throw error
      this.#down = new Set()
    }
    return await this.#findOneByOne(this.#down, after, query)
  }

  async #findOneByOne<T>(
    down: Set<number>,
    after: string,
    query: (accounts: Accounts) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    for (let last = after; ; ) {
      const place = await this.#nextPlace(last)
      if (!place) return undefined
      last = place.account_id
      if (down.has(place.server)) continue
      try {
        const found = await query(this.#sql`= ${place.account_id}`)
        if (found !== undefined) return found
      } catch (error) {
        if (!isLoss(error)) throw error
        down.add(place.server)
      }
    }
  }

  async #nextPlace(after: string): Promise<AccountServer | undefined> {
    while (this.#ahead[0] && this.#ahead[0].account_id <= after) this.#ahead.shift()
    if (this.#ahead.length === 0) this.#ahead = await listPlaces(this.#sql, after)
    return this.#ahead[0]
  }
}

function isLoss(error: unknown): boolean {
  return /^(lost|unavailable)$/.test(dbErrorKind(error) ?? '')
}

async function isCitus(sql: Sql): Promise<boolean> {
  const rows = await sql`select 1 from pg_extension where extname = 'citus'`
  return rows.length > 0
}

interface AccountServer {
  readonly account_id: string
  readonly server: number
}

const placesPerPage = 1000

async function listPlaces(sql: Sql, after: string): Promise<AccountServer[]> {
  return await sql<AccountServer[]>`
    select account_id, p.groupid as server
    from (
      select distinct account_id from logins where account_id > ${after} order by account_id limit ${placesPerPage}
    ) l
    join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('accounts', l.account_id)
    order by account_id`
}
