import type { Sql } from 'postgres'
import { toArrayLiteral } from '../db/fragments.ts'

export interface EntryRow {
  readonly version: number
  readonly created_at: Date
  readonly document: string
}

export interface EntryRange {
  /** Exclusive. */
  readonly before: number | undefined
  readonly from: string | undefined
  readonly to: string | undefined
}

export function listEntries(
  sql: Sql,
  accountId: string,
  { before, from, to }: EntryRange,
  limit: number,
): Promise<EntryRow[]> {
  return sql<EntryRow[]>`
    select version, created_at, document from account_entries
    where account_id = ${accountId} ${before === undefined ? sql`` : sql`and version < ${before}`}
      ${from === undefined ? sql`` : sql`and created_at >= ${from}::text::timestamptz`}
      ${to === undefined ? sql`` : sql`and created_at <= ${to}::text::timestamptz`}
    order by version desc limit ${limit}`
}

export async function findActors(sql: Sql, accountId: string, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const among = toArrayLiteral(ids)
  const rows = await sql<{ id: string; name: string }[]>`
    select user_id as id, email as name from logins where account_id = ${accountId} and user_id = any (${among}::uuid[])
    union all
    select id, name from api_keys where account_id = ${accountId} and id = any (${among}::uuid[])`
  return new Map(rows.map(({ id, name }) => [id, name]))
}
