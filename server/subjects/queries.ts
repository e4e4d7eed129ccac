import type { Sql } from 'postgres'
import type { RemovalRow } from '../consents/rows.ts'

/** How many records of a subject a site has. */
export interface SiteCount {
  site_id: string
  live: number
  deleted: number
}

/** Live records of exactly this subject. */
export function findLive(
  sql: Sql,
  accountId: string,
  subjectId: string,
  limit: number,
): Promise<RemovalRow[]> {
  return sql<RemovalRow[]>`
    select id, version, chain_head, updated_at, accepted, preferences, policy_version from consents
    where account_id = ${accountId} and subject_id = ${subjectId} and deleted_at is null
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
