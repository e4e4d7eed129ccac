import pMap from 'p-map'
import type { Fragment, Sql } from 'postgres'
import { noId } from '../ids.ts'
import { dbErrorClass, dbErrorCode, dbErrorKind } from './errors.ts'
import { toArrayLiteral } from './fragments.ts'

export const partialMessage = 'accounts on a cluster server that is down were skipped'

/** Condition on `account_id` in a query. */
export type Accounts = Fragment

interface AccountRow {
  readonly account_id: string
}

/** Returns at most `limit` rows, in the order of their accounts. */
type List<Row> = (accounts: Accounts, limit: number) => Promise<Row[]>

interface Page<Row> {
  readonly rows: readonly Row[]
  /** There are no more accounts. */
  readonly isLast: boolean
}

function toPage<Row>(rows: readonly Row[], limit: number): Page<Row> {
  return { rows, isLast: rows.length < limit }
}

/**
 * Lists accounts in one query. If that fails because a server of a Citus cluster is down, queries the accounts of each
 * other server.
 */
export class AccountLists {
  readonly #sql: Sql
  #down: Set<number> | null = null

  constructor(sql: Sql) {
    this.#sql = sql
  }

  get isPartial(): boolean {
    return this.#down !== null && this.#down.size > 0
  }

  /** Lists accounts behind `after`. */
  async list<Row extends AccountRow>(after: string, limit: number, query: List<Row>): Promise<Page<Row>> {
    try {
      if (!this.#down) return toPage(await query(this.#sql`> ${after}`, limit), limit)
    } catch (error) {
      if (!mayBeLost(error) || !(await isCitus(this.#sql))) throw error
      this.#down = new Set()
    }
    for (let last = after; ; ) {
      const places = await listPlaces(this.#sql, last)
      const page = toPage(await this.#listByServer(this.#down, places, limit, query), limit)
      const isLast = page.isLast && places.length < accountsPerList
      if (page.rows.length > 0 || isLast) return { ...page, isLast }
      last = places.at(-1)?.account_id ?? last
    }
  }

  async #listByServer<Row extends AccountRow>(
    down: Set<number>,
    places: readonly Place[],
    limit: number,
    query: List<Row>,
  ): Promise<Row[]> {
    const rows: Row[] = []
    for (const server of new Set(places.map(place => place.server))) {
      if (down.has(server)) continue
      const ids = places.flatMap(place => (place.server === server ? place.account_id : []))
      try {
        rows.push(...(await query(this.#sql`= any (${toArrayLiteral(ids)}::uuid[])`, limit)))
      } catch (error) {
        if (!mayBeLost(error)) throw error
        down.add(server)
      }
    }
    return rows.sort((a, b) => (a.account_id < b.account_id ? -1 : 1)).slice(0, limit)
  }
}

/** A list times out on a server that hangs. */
function mayBeLost(error: unknown): boolean {
  return /^(lost|unavailable)$/.test(dbErrorKind(error) ?? '')
}

/** Work that takes too long, waits for a lock or lacks a resource says nothing about its server. */
function isLost(error: unknown): boolean {
  const code = dbErrorCode(error) ?? ''
  return /^57P/.test(code) || /^(08|connection)$/.test(dbErrorClass(code))
}

async function isCitus(sql: Sql): Promise<boolean> {
  const rows = await sql`select 1 from pg_extension where extname = 'citus'`
  return rows.length > 0
}

interface Place extends AccountRow {
  readonly server: number
}

const accountsPerList = 1000

async function listPlaces(sql: Sql, after: string): Promise<Place[]> {
  return await sql<Place[]>`
    select account_id, p.groupid as server
    from (
      select distinct account_id from logins where account_id > ${after} order by account_id limit ${accountsPerList}
    ) l
    join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('accounts', l.account_id)
    order by account_id`
}

/** Statements of several servers of a cluster run at once, and most connections stay free for requests. */
const usualAtOnce = 3

/** A list with so many accounts that other nodes have done is old. */
const maxDone = 10

interface Turn<Row> {
  readonly signal: AbortSignal | undefined
  readonly atOnce?: number | undefined
  readonly list: List<Row>
  /** Returns false if another node was faster. */
  readonly work: (row: Row) => Promise<boolean>
}

export interface Ended {
  readonly failures: readonly (readonly [accountId: string, error: Error])[]
  /** Accounts on a server that is down were skipped. */
  readonly isPartial: boolean
}

/**
 * Works for each listed account, once. Each node takes the accounts of a list in an order of its own, so that several
 * share the work. An account that fails does not stop the others.
 */
export async function forEachAccount<Row extends AccountRow>(
  sql: Sql,
  { signal, atOnce = usualAtOnce, list, work }: Turn<Row>,
): Promise<Ended> {
  const accounts = new AccountLists(sql)
  const failures: [string, Error][] = []
  const begun = new Set<string>()
  for (let after = noId; !signal?.aborted; ) {
    const { rows, isLast } = await accounts.list(after, accountsPerList, list)
    let done = 0
    let isOld = false
    const run = async (row: Row) => {
      if (isOld || signal?.aborted) return
      begun.add(row.account_id)
      try {
        done += (await work(row)) ? 0 : 1
        isOld ||= done === maxDone
      } catch (error) {
        failures.push([row.account_id, error as Error])
        isOld ||= isLost(error) // the next list leaves out a server that is down
      }
    }
    await pMap(shuffle(rows.filter(row => !begun.has(row.account_id))), run, { concurrency: atOnce })
    if (isOld) continue
    if (isLast) break
    after = rows.at(-1)?.account_id ?? after
  }
  return { failures, isPartial: accounts.isPartial }
}

function shuffle<T>(items: readonly T[]): T[] {
  const order = items.map(item => ({ item, place: Math.random() })).sort((a, b) => a.place - b.place)
  return order.map(({ item }) => item)
}
