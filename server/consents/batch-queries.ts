import type { Sql } from 'postgres'
import type { Actor } from '../../src/evidence/chain.ts'
import { among, insertEntries, lockBatch } from './fragments.ts'
import type { BatchLink } from './rows.ts'

/** How many records of a site. */
export interface SiteRecords {
  site_id: string
  records: number
}

/**
 * Deletes live records logically, with their audit entries, in one statement. Resolves to how many were written of each
 * site; the others have changed meanwhile, or somebody is at them.
 */
export function removeRecords(
  sql: Sql,
  accountId: string,
  links: readonly BatchLink[],
  actor: Actor,
): Promise<SiteRecords[]> {
  return sql<SiteRecords[]>`
    with ${lockBatch(sql, accountId, links, sql`deleted_at is null`)},
    c as (
      update consents c set
        version = e.version + 1, chain_head = e.hash, updated_at = e.at, deleted_at = e.at
      from due join e on e.id = due.id
      where c.account_id = ${accountId} and c.id = due.id and c.version = e.version and ${among(sql, sql`c.id`, links)}
      returning c.*
    ), ${insertEntries(sql, accountId, { action: 'deleted', actor })}
    select site_id, count(*)::integer as records from c group by site_id order by site_id`
}
