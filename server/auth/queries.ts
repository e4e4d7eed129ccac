import type { Sql } from 'postgres'

export interface KeyRow {
  id: string
  /** Requests a month; null is unlimited. */
  monthly_quota: number | null
}

export interface Lookup {
  readonly accountId: string
  readonly keyHash: Buffer
  readonly now: Date
}

/** The key with this hash, if it is neither revoked nor expired. */
export async function findKey(sql: Sql, { accountId, keyHash, now }: Lookup): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select k.id, a.monthly_quota::float8 as monthly_quota
    from api_keys k join accounts a on a.account_id = k.account_id
    where k.account_id = ${accountId} and k.key_hash = ${keyHash}
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now})`
  return row
}

/**
 * The same key, with one unit of the month's quota spent on it: `used` is the count after it, and null where none was
 * left. Concurrent requests meet on the usage row, which decides: never one unit too many.
 */
export async function findKeyAndSpend(
  sql: Sql,
  { accountId, keyHash, now, month }: Lookup & { readonly month: string },
): Promise<(KeyRow & { used: number | null }) | undefined> {
  const [row] = await sql<(KeyRow & { used: number | null })[]>`
    with key as (
      select k.id, a.monthly_quota
      from api_keys k join accounts a on a.account_id = k.account_id
      where k.account_id = ${accountId} and k.key_hash = ${keyHash}
        and k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now})
    ), spent as (
      insert into usage as u (account_id, month, used)
      select ${accountId}::uuid, ${month}::date, 1 from key where monthly_quota is null or monthly_quota > 0
      on conflict (account_id, month) do update set used = u.used + 1
        where u.used < coalesce((select monthly_quota from key), 9223372036854775807)
      returning used
    )
    select key.id, key.monthly_quota::float8 as monthly_quota, spent.used::float8 as used
    from key left join spent on true`
  return row
}

/** Gives back a unit that was spent on a request which failed on our side. */
export async function refund(
  sql: Sql,
  { accountId, month }: { accountId: string; month: string },
): Promise<void> {
  await sql`
    update usage set used = used - 1
    where account_id = ${accountId} and month = ${month}::date and used > 0`
}
