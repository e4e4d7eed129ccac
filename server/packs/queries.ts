import type { Sql } from 'postgres'
import { toArrayLiteral } from '../db/fragments.ts'

export interface EntryRow {
  readonly version: number
  readonly document: string
}

/** Returns the newest entries with one of these targets that are among the first `size` leaves. */
export function listEntriesAbout(
  sql: Sql,
  accountId: string,
  targets: readonly string[],
  { size, limit }: { readonly size: number; readonly limit: number },
): Promise<EntryRow[]> {
  const patterns = toArrayLiteral(targets.map(id => `%"target": {"id": "${id}"%`)) // as PostgreSQL writes them
  return sql<EntryRow[]>`
    select e.version, e.document from account_entries e
    join log_entries l on l.account_id = e.account_id and l.consent_id = e.account_id and l.version = e.version
    where e.account_id = ${accountId} and l.leaf_index < ${size}
      and e.document like any (${patterns}::text[])
    order by e.version desc limit ${limit}`
}
