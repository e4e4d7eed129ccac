import type { Sql } from 'postgres'

/** A calendar month of an account. */
export interface Period {
  readonly accountId: string
  /** Its first day in UTC, `2026-11-01`. */
  readonly month: string
}

/** What a node asks for, and what it says of the lease before. */
export interface LeaseRequest {
  /** Units asked for, and how many of them will be spent at once. */
  readonly wanted: number
  readonly needed: number
  /** Units a month; null is unlimited. */
  readonly limit: number | null
  /** Until when other nodes should wait for what will come back of it. */
  readonly until: Date
  /** Units of the lease before that are settled by this. */
  readonly settled: number
}

export interface UsageRow {
  /** Units a month; null is unlimited. */
  monthly_quota: number | null
  /** Units granted, spent or held. */
  used: number
  /** Units that nodes hold and have not settled. */
  held: number
  held_until: Date | null
}

/** What part of the units that are left one lease may take in advance: few nodes never come to blows over the rest. */
const share = 64

/** Above every quota. */
const endless = Number.MAX_SAFE_INTEGER

/**
 * Takes a lease: at most the units wanted and a part of what is left, but those needed while there are any. The account's
 * row decides, so that all leases together never pass the limit. A lease of one unit is spent at once, and so never held.
 * Undefined where nothing is left.
 */
export async function takeLease(
  sql: Sql,
  { accountId, month }: Period,
  { wanted, needed, limit, until, settled }: LeaseRequest,
): Promise<{ used: number; granted: number } | undefined> {
  const most = limit ?? endless
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

/** Settles a lease: its units are no longer held, and those that were not spent are free again. */
export async function settleLease(
  sql: Sql,
  { accountId, month }: Period,
  { settled, unspent }: { settled: number; unspent: number },
): Promise<void> {
  await sql`
    update usage set used = greatest(0, used - ${unspent}::bigint), held = greatest(0, held - ${settled}::bigint)
    where account_id = ${accountId} and month = ${month}::date`
}

/** What an account has used of its quota. */
export async function findUsage(sql: Sql, { accountId, month }: Period): Promise<UsageRow> {
  const [row] = await sql<UsageRow[]>`
    select a.monthly_quota::float8, coalesce(u.used, 0)::float8 as used, coalesce(u.held, 0)::float8 as held, u.held_until
    from accounts a left join usage u on u.account_id = a.account_id and u.month = ${month}::date
    where a.account_id = ${accountId}`
  return row ?? { monthly_quota: null, used: 0, held: 0, held_until: null }
}
