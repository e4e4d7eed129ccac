import type { Sql } from 'postgres'
import type { RemovalRow } from '../consents/rows.ts'
import { arrayOf } from '../db/array.ts'

/** A site that keeps no record longer than so many days after its last change. */
export interface RetentionSite {
  account_id: string
  id: string
  retention_days: number
}

/** Where a walk over the sites of all accounts is. */
export type SitePlace = Pick<RetentionSite, 'account_id' | 'id'>

/** The next sites, in order, that keep records for a limited time: a question to every shard. */
export function findSites(sql: Sql, after: SitePlace, limit: number): Promise<RetentionSite[]> {
  return sql<RetentionSite[]>`
    select account_id, id, retention_days from sites
    where retention_days is not null and (account_id, id) > (${after.account_id}, ${after.id})
    order by account_id, id limit ${limit}`
}

/** The next live records of a site with ids up to `last`, and whether they were changed after `before`. */
export function walkLive(
  sql: Sql,
  { account_id, id }: SitePlace,
  { after, last, before }: { readonly after: string; readonly last: string; readonly before: Date },
  limit: number,
): Promise<{ id: string; is_expired: boolean }[]> {
  return sql<{ id: string; is_expired: boolean }[]>`
    select id, updated_at <= ${before} as is_expired from consents
    where account_id = ${account_id} and site_id = ${id} and deleted_at is null and id > ${after} and id <= ${last}
    order by id limit ${limit}`
}

/** Those of them that nobody has changed since. */
export function findExpired(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  before: Date,
): Promise<RemovalRow[]> {
  return sql<RemovalRow[]>`
    select id, version, chain_head, updated_at, accepted, preferences, policy_version from consents
    where account_id = ${accountId} and id = any (${arrayOf(ids)}::uuid[]) and deleted_at is null
      and updated_at <= ${before}`
}
