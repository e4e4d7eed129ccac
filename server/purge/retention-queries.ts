import type { Fragment, Sql } from 'postgres'
import type { StateRow } from '../consents/rows.ts'
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

/**
 * When the records of the site `s` that were not changed since are kept no longer, by whichever clock is behind; null where
 * it keeps all of them.
 */
function bound(sql: Sql) {
  return sql`least(now(), ${new Date()}::timestamptz) - s.retention_days * interval '24 hours'`
}

/**
 * The next live records of a site with ids up to `last`, and whether it keeps them no longer; none where it keeps all of
 * them by now.
 */
export function walkLive(
  sql: Sql,
  { account_id, id }: SitePlace,
  { after, last }: { readonly after: string; readonly last: string },
  limit: number,
): Promise<{ id: string; is_expired: boolean }[]> {
  // Accepted and other records are apart in the index; each run is read in its order, and both are merged.
  const run = (answer: Fragment) => sql`(
    select id, updated_at from consents
    where account_id = ${account_id} and site_id = ${id} and ${answer} and deleted_at is null
      and id > ${after} and id <= ${last}
    order by id limit ${limit})`
  return sql<{ id: string; is_expired: boolean }[]>`
    select c.id, c.updated_at <= ${bound(sql)} as is_expired
    from (${run(sql`accepted`)} union all ${run(sql`not accepted`)}) c
    join sites s on s.account_id = ${account_id} and s.id = ${id}
    where s.retention_days is not null
    order by c.id limit ${limit}`
}

/** Those of them that nobody has changed since, and that their site still does not keep. */
export function findExpired(
  sql: Sql,
  { account_id, id }: SitePlace,
  ids: readonly string[],
): Promise<StateRow[]> {
  return sql<StateRow[]>`
    select c.id, c.version, c.chain_head, c.updated_at, c.accepted, c.preferences, c.policy_version
    from consents c join sites s on s.account_id = c.account_id and s.id = c.site_id
    where c.account_id = ${account_id} and c.id = any (${arrayOf(ids)}::uuid[]) and c.site_id = ${id}
      and c.deleted_at is null and c.updated_at <= ${bound(sql)}`
}
