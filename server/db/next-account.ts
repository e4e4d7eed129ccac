import type { Fragment, Sql } from 'postgres'
import { dbErrorKind } from './errors.ts'

/** Error of a job that left accounts out. */
export const partialMessage = 'the accounts of a server of the cluster that is down were left out'

/** `> …` or `= …`, to follow `account_id` in a query. */
export type Accounts = Fragment

/**
 * Finds accounts with work to do, by one query over all of them. When a server of a Citus cluster is down, that query fails:
 * from then on each account is asked by itself, without those of the servers that have failed.
 */
export class NextAccount {
  readonly #sql: Sql
  #down: Set<number> | null = null

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** True if accounts were left out. */
  get isPartial(): boolean {
    return this.#down !== null && this.#down.size > 0
  }

  async find<T>(after: string, query: (accounts: Accounts) => Promise<T | undefined>): Promise<T | undefined> {
    try {
      if (!this.#down) return await query(this.#sql`> ${after}`)
    } catch (error) {
      if (!isLoss(error) || !(await isCitus(this.#sql))) throw error
      this.#down = new Set()
    }
    return await this.#findOneByOne(after, query)
  }

  async #findOneByOne<T>(after: string, query: (accounts: Accounts) => Promise<T | undefined>): Promise<T | undefined> {
    const down = this.#down ?? new Set()
    for (const { account_id, server } of await listPlaces(this.#sql, after)) {
      if (down.has(server)) continue
      try {
        const found = await query(this.#sql`= ${account_id}`)
        if (found !== undefined) return found
      } catch (error) {
        if (!isLoss(error)) throw error
        down.add(server)
      }
    }
    return undefined
  }
}

function isLoss(error: unknown): boolean {
  return /^(lost|unavailable)$/.test(dbErrorKind(error) ?? '')
}

async function isCitus(sql: Sql): Promise<boolean> {
  const rows = await sql`select 1 from pg_extension where extname = 'citus'`
  return rows.length > 0
}

/** Each account has a login, and every server has all logins. */
async function listPlaces(sql: Sql, after: string): Promise<{ account_id: string; server: number }[]> {
  return await sql<{ account_id: string; server: number }[]>`
    select account_id, p.groupid as server
    from (select distinct account_id from logins where account_id > ${after}) l
    join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('accounts', l.account_id)
    order by account_id`
}
