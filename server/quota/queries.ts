import type { Sql } from 'postgres'

export interface Period {
  readonly accountId: string
  /** First day in UTC, `2026-11-01`. */
  readonly month: string
}

export interface LeaseRequest {
  readonly wanted: number
  /** Units of `wanted` that are spent immediately. */
  readonly needed: number
  readonly limit: number | null
  /** Other nodes wait until then for returned units. */
  readonly until: Date
  /** Units of the previous lease that this one settles. */
  readonly settled: number
}

export interface UsageRow {
  /** Units a month; null is unlimited. */
  monthly_quota: number | null
  /** Granted, spent or held. */
  used: number
  /** Held by nodes and not settled. */
  held: number
  held_until: Date | null
}

/** A lease takes at most 1/64 of what is left in advance, so that nodes do not compete for the last units. */
const share = 64

const unlimited = Number.MAX_SAFE_INTEGER

/**
 * Takes at most the units wanted and a part of what is left, but at least those needed while there are any. The account's
 * row decides, so all leases together never exceed the limit. A single unit is spent at once. Returns undefined if nothing
 * is left.
 */
export async function takeLease(
  sql: Sql,
  { accountId, month }: Period,
  { wanted, needed, limit, until, settled }: LeaseRequest,
): Promise<{ used: number; granted: number } | undefined> {
  const most = limit ?? unlimited
  const first = Math.min(wanted, Math.max(needed, Math.floor(most / share)), most)
  const left = sql`(${most}::bigint - u.used)`
  const granted = sql`least(${wanted}::bigint, greatest(${needed}::bigint, ${left} / ${share}::bigint), ${left})`
  const [row] = await sql<{ used: number; granted: number }[]>`
    insert into usage as u (account_id, month, used, held, held_until, granted)
    select account_id, ${month}::date, ${first}::bigint, ${first > 1 ? first : 0}::bigint, ${until}::timestamptz,
      ${first}::bigint
    from accounts where account_id = ${accountId} and ${most}::bigint > 0
    on conflict (account_id, month) do update set
      used = u.used + ${granted},
      held = greatest(0, u.held - ${settled}::bigint) + case when ${granted} > 1 then ${granted} else 0 end,
      held_until = greatest(u.held_until, excluded.held_until),
      granted = ${granted}
      where u.used < ${most}::bigint
    returning used::float8, granted::float8`
  return row
}

export async function settleLease(
  sql: Sql,
  { accountId, month }: Period,
  { settled, unspent }: { settled: number; unspent: number },
): Promise<void> {
  await sql`
    update usage set used = greatest(0, used - ${unspent}::bigint), held = greatest(0, held - ${settled}::bigint)
    where account_id = ${accountId} and month = ${month}::date`
}

export async function findUsage(sql: Sql, { accountId, month }: Period): Promise<UsageRow> {
  const [row] = await sql<UsageRow[]>`
    select a.monthly_quota::float8, coalesce(u.used, 0)::float8 as used, coalesce(u.held, 0)::float8 as held, u.held_until
    from accounts a left join usage u on u.account_id = a.account_id and u.month = ${month}::date
    where a.account_id = ${accountId}`
  return row ?? { monthly_quota: null, used: 0, held: 0, held_until: null }
}
