import type { Sql } from 'postgres'
import { newestAnswer } from '../consents/newest-answer.ts'
import { empty, instant } from '../db/fragments.ts'

export interface SubjectPage {
  /** NoticeSubjects as JSON, separated by commas; null for an unknown site. */
  records: string | null
  has_more: boolean
  last: string | null
  /** Last record examined, if more may remain. */
  examined: string | null
}

/**
 * Reads the site's live accepted records, newest first, and returns those of the version that are the newest answer of
 * their subject. The limit (`examinedRecordsLimit`) is a literal: for a parameter the planner assumes a tenth of the
 * table.
 */
export async function findNoticeSubjects(
  sql: Sql,
  accountId: string,
  {
    siteId,
    version,
    before,
  }: { readonly siteId: string; readonly version: number; readonly before: string | undefined },
  limit: number,
): Promise<SubjectPage | undefined> {
  const of = { subject: sql`r.subject_id`, site: sql`${siteId}::uuid`, purpose: null, onlyWitnessed: false, at: null }
  const ofSite = sql`account_id = ${accountId} and site_id = ${siteId}`
  const candidates = sql`
    from consents where ${ofSite} and accepted and deleted_at is null
      ${before === undefined ? empty(sql) : sql`and id < ${before}`}
    order by id desc`
  const [row] = await sql<SubjectPage[]>`
    with found as (
      select r.* from (
        select id, subject_id, site_id, policy_version, notice_entry, notice_locale, created_at, updated_at, expires_at,
          given_at
        ${candidates} limit 500
      ) r
      cross join lateral (${newestAnswer(sql, accountId, of)}) newest
      where r.policy_version = ${version} and newest.id = r.id
      order by r.id desc limit ${limit + 1}
    ), page as (
      select id, row_number() over (order by id desc) as n, row_to_json((select r from (
        select id, subject_id, site_id, policy_version, notice_entry is not null as notice_held, notice_locale,
          ${instant(sql, sql`created_at`)} as created_at, ${instant(sql, sql`updated_at`)} as updated_at,
          ${instant(sql, sql`expires_at`)} as expires_at, ${instant(sql, sql`given_at`)} as given_at
      ) r))::text as json
      from found
    ), whole as (
      select coalesce(string_agg(json, ',' order by n) filter (where n <= ${limit}), '') as records,
        max(id::text) filter (where n = ${limit}) as last, count(*) > ${limit} as has_more
      from page
    )
    select w.has_more, w.last, case when exists (select 1 from sites where account_id = ${accountId} and id = ${siteId})
        then w.records end as records,
      case when not w.has_more then (select id ${candidates} offset 499 limit 1) end as examined
    from whole w`
  return row
}
