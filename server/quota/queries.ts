import type { Fragment, Sql } from 'postgres'

export interface Period {
  readonly accountId: string
  /** First day in UTC, `2026-11-01`. */
  readonly month: string
}

export interface LeaseRequest {
  readonly wanted: number
  /** Units of `wanted` to spend immediately. */
  readonly needed: number
  /** Time until which other nodes wait for returned units. */
  readonly until: Date
  readonly settled: number
}

export interface UsageRow {
  /** Null is unlimited. */
  monthly_quota: number | null
  used: number
  /** Units held and not settled. */
  held: number
  held_until: Date | null
}

/** At most 1/64 of the remaining units is leased in advance. */
const share = 64

const unlimited = Number.MAX_SAFE_INTEGER

export interface TakenLease {
  used: number
  granted: number
  monthly_quota: number | null
}

/**
 * Leases `wanted` units or a share of the rest, but at least `needed`. The limit is in the account's row, so leases
 * never exceed it. A single unit counts as spent. Returns undefined if nothing is left.
 */
export async function takeLease(
  sql: Sql,
  { accountId, month }: Period,
  { wanted, needed, until, settled }: LeaseRequest,
): Promise<TakenLease | undefined> {
  const grant = (left: Fragment) =>
    sql`least(${wanted}::bigint, greatest(${needed}::bigint, ${left} / ${share}::bigint), ${left})`
  const limit = sql`coalesce(a.monthly_quota, ${unlimited}::bigint)`
  const first = grant(limit)
  const limitNow = sql`coalesce(excluded.monthly_quota, ${unlimited}::bigint)`
  const granted = grant(sql`(${limitNow} - u.used)`)
  const [row] = await sql<TakenLease[]>`
    insert into usage as u (account_id, month, used, held, held_until, granted, monthly_quota)
    select account_id, ${month}::date, ${first}, case when ${first} > 1 then ${first} else 0 end, ${until}::timestamptz,
      ${first}, a.monthly_quota
    from accounts a where account_id = ${accountId} and ${limit} > 0
    on conflict (account_id, month) do update set
      used = u.used + ${granted},
      held = greatest(0, u.held - ${settled}::bigint) + case when ${granted} > 1 then ${granted} else 0 end,
      held_until = greatest(u.held_until, excluded.held_until),
      granted = ${granted},
      monthly_quota = excluded.monthly_quota
      where u.used < ${limitNow}
    returning used::float8, granted::float8, monthly_quota::float8`
  return row
}

/** Negative `unspent` units were spent on credit, possibly before the first lease of the month. */
export async function settleLease(
  sql: Sql,
  { accountId, month }: Period,
  { settled, unspent }: { settled: number; unspent: number },
): Promise<void> {
  await sql`
    insert into usage as u (account_id, month, used)
    select account_id, ${month}::date, greatest(0, ${-unspent}::bigint) from accounts where account_id = ${accountId}
    on conflict (account_id, month) do update set
      used = greatest(0, u.used - ${unspent}::bigint), held = greatest(0, u.held - ${settled}::bigint)`
}

export async function findLimit(sql: Sql, accountId: string): Promise<number | null> {
  const [row] = await sql<Pick<UsageRow, 'monthly_quota'>[]>`
    select monthly_quota::float8 from accounts where account_id = ${accountId}`
  return row ? row.monthly_quota : 0
}

export async function findUsage(sql: Sql, { accountId, month }: Period): Promise<UsageRow> {
  const [row] = await sql<UsageRow[]>`
    select a.monthly_quota::float8, coalesce(u.used, 0)::float8 as used, coalesce(u.held, 0)::float8 as held, u.held_until
    from accounts a left join usage u on u.account_id = a.account_id and u.month = ${month}::date
    where a.account_id = ${accountId}`
  return row ?? { monthly_quota: null, used: 0, held: 0, held_until: null }
}
