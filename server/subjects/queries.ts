import type { Sql } from 'postgres'
import type { BatchLink, SiteRecords, StateRow } from '../consents/rows.ts'
import { toArrayLiteral } from '../db/fragments.ts'

/** How many records of a subject a site has. */
export interface SiteCount {
  site_id: string
  live: number
  deleted: number
}

/** Live records of exactly this subject, but for those that are passed over. */
export function findLive(
  sql: Sql,
  accountId: string,
  { subjectId, passed }: { readonly subjectId: string; readonly passed: readonly string[] },
  limit: number,
): Promise<StateRow[]> {
  return sql<StateRow[]>`
    select id, version, chain_head, updated_at, accepted, preferences, policy_version from consents
    where account_id = ${accountId} and subject_id = ${subjectId} and deleted_at is null
      and id <> all (${toArrayLiteral(passed)}::uuid[])
    order by id limit ${limit}`
}

/** What each site has of a subject. */
export function countBySite(sql: Sql, accountId: string, subjectId: string): Promise<SiteCount[]> {
  return sql<SiteCount[]>`
    select site_id, (count(*) filter (where deleted_at is null))::integer as live,
      (count(*) filter (where deleted_at is not null))::integer as deleted
    from consents where account_id = ${accountId} and subject_id = ${subjectId}
    group by site_id order by site_id`
}

/** How many entries of a batch were written, by the site of their records. */
export function countWritten(
  sql: Sql,
  accountId: string,
  links: readonly BatchLink[],
): Promise<SiteRecords[]> {
  return sql<SiteRecords[]>`
    select c.site_id, count(*)::integer as records
    from consent_history h join consents c on c.account_id = h.account_id and c.id = h.consent_id
    where h.account_id = ${accountId} and h.consent_id = any (${toArrayLiteral(links.map(({ id }) => id))}::uuid[])
      and h.hash = any (${toArrayLiteral(links.map(({ hash }) => hash))}::bytea[])
    group by c.site_id order by c.site_id`
}
