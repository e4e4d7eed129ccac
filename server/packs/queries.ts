import type { Sql } from 'postgres'
import { targetId } from '../audit/entries.ts'
import { toArrayLiteral } from '../db/fragments.ts'
import type { Leaf } from '../evidence/queries.ts'

export interface EntryRow extends Leaf {
  readonly document: string
}

/** Returns the newest entries with one of these targets, without `except`, among the first `size` leaves. */
export function listEntriesAbout(
  sql: Sql,
  accountId: string,
  targets: readonly string[],
  { size, except, limit }: { readonly size: number; readonly except: number; readonly limit: number },
): Promise<EntryRow[]> {
  // The expression is that of the index account_entries_by_target, which a bound for each target reads no further.
  return sql<EntryRow[]>`
    select e.*
    from unnest(${toArrayLiteral(targets)}::text[]) as target (id)
    cross join lateral (
      select l.consent_id, e.version, e.document, l.leaf_index::float8 as leaf_index, l.hash
      from account_entries e
      join log_entries l on l.account_id = ${accountId} and l.consent_id = ${accountId} and l.version = e.version
      where e.account_id = ${accountId} and e.version <> ${except} and l.leaf_index < ${size}
        and ${targetId(sql)} = target.id
      order by e.version desc limit ${limit}
    ) as e
    order by e.version desc limit ${limit}`
}
