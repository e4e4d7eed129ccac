import type { Sql } from 'postgres'
import type { Accounts } from '../db/accounts.ts'

export interface UnstampedCheckpoint {
  readonly account_id: string
  readonly tree_size: number
  readonly document: string
}

/** Returns the newest of each account. */
export function listUnstamped(
  sql: Sql,
  accounts: Accounts,
  { since, limit }: { readonly since: Date; readonly limit: number },
): Promise<UnstampedCheckpoint[]> {
  return sql<UnstampedCheckpoint[]>`
    select distinct on (c.account_id) c.account_id, c.tree_size::float8 as tree_size, c.document from checkpoints c
    where c.account_id ${accounts} and c.created_at > ${since} and not exists (
      select 1 from timestamp_tokens t
      where t.account_id = c.account_id and t.account_id ${accounts} and t.tree_size = c.tree_size)
    order by c.account_id, c.tree_size desc limit ${limit}`
}

/** Returns false if another node was faster. The checkpoint may then still lack a timestamp. */
export async function insertTimestamp(
  sql: Sql,
  { account_id, tree_size }: UnstampedCheckpoint,
  token: Buffer,
): Promise<boolean> {
  const rows = await sql`
    insert into timestamp_tokens (account_id, tree_size, position, token, created_at)
    select ${account_id}::uuid, ${tree_size}::bigint, coalesce(max(position), 0) + 1, ${token}::bytea,
      ${new Date()}::timestamptz
    from timestamp_tokens where account_id = ${account_id}
    on conflict do nothing returning 1`
  return rows.length > 0
}

export interface TimestampRow {
  readonly position: number
  readonly tree_size: number
  readonly token: Buffer
  /** Null if the checkpoint is missing. */
  readonly document: string | null
}

/** PostgreSQL's smallest integer. */
export const minPosition = -(2 ** 31)

/** Missing values are replaced and reported. */
export function listTimestamps(sql: Sql, accountId: string, from: number, limit: number): Promise<TimestampRow[]> {
  return sql<TimestampRow[]>`
    select coalesce(t.position, ${minPosition}) as position, t.tree_size::float8 as tree_size,
      coalesce(t.token, '') as token, c.document
    from timestamp_tokens t left join checkpoints c on c.account_id = t.account_id and c.tree_size = t.tree_size
    where t.account_id = ${accountId} and coalesce(t.position, ${minPosition}) >= ${from} order by 1 limit ${limit}`
}
