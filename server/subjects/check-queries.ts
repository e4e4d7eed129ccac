import type { Fragment, Sql } from 'postgres'
import { empty } from '../db/fragments.ts'

export interface Question {
  readonly subjectId: string
  readonly purpose: string
  readonly siteId: string | undefined
  /** Null for the present state, whatever the clocks of the nodes say. */
  readonly at: { readonly instant: Date; readonly lastId: string } | null
  /** The time of the answer. */
  readonly now: Date
}

/** A record that decides, its notice, and the newest notice that requires a renewal. */
export interface DecidingRow {
  id: string
  site_id: string
  accepted: boolean
  answer: unknown
  policy_version: number
  version: number
  created_at: Date
  stated_at: Date
  /** True if an earlier state of the record consented. */
  was_given: boolean
  /** As it is stored of the present state. */
  expires_at: Date | null
  notice_locale: string | null
  notice_entry: number | null
  languages: string[] | null
  purposes: { key: string }[] | null
  controller: string | null
  valid_for: string | null
  published_at: Date | null
  effective_from: Date | null
  renewal_version: number | null
  renewal_published_at: Date | null
  renewal_effective_from: Date | null
}

const largestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * The newest live record of the subject on each site, and of these the newest that names the purpose, else the newest. One
 * look into `consents_by_subject_site` for each site, so that it does not matter how many records there are. The site and the
 * id are compared as a row, because for an equal site a plan for any subject prefers the index without the site.
 */
function deciding(sql: Sql, accountId: string, { subjectId, purpose, siteId, at }: Question): Fragment {
  const ofSubject = sql`c.account_id = ${accountId} and c.subject_id = ${subjectId} and c.site_id >= s.id
        and (c.site_id, c.id) <= (s.id, ${at?.lastId ?? largestId}::uuid)`
  const newest = at
    ? sql`
      select c.id, h.version, h.accepted, h.preferences, c.policy_version, c.created_at, c.notice_entry, c.notice_locale,
        c.expires_at
      from consents c
      join lateral (
        select version, action, accepted, preferences from consent_history h
        where h.account_id = ${accountId} and h.consent_id = c.id and h.created_at <= ${at.instant}
        order by version desc limit 1
      ) h on h.action not in ('deleted', 'purged')
      where ${ofSubject} and (c.deleted_at is null or c.deleted_at > ${at.instant})`
    : sql`
      select c.id, c.version, c.accepted, c.preferences, c.policy_version, c.created_at, c.notice_entry, c.notice_locale,
        c.expires_at
      from consents c where ${ofSubject} and c.deleted_at is null`
  return sql`
    select s.id as site_id, c.* from sites s
    cross join lateral (${newest} order by c.site_id desc, c.id desc limit 1) c
    where s.account_id = ${accountId} ${siteId === undefined ? empty(sql) : sql`and s.id = ${siteId}`}
    order by c.preferences ? ${purpose}::text desc, c.id desc limit 1`
}

/** Returns undefined if the subject had no live record. One statement, so that no change comes in between. */
export async function findDeciding(sql: Sql, accountId: string, question: Question): Promise<DecidingRow | undefined> {
  const { purpose, at, now } = question
  const untilThen = (instant: Fragment) => (at ? sql`and ${instant} <= ${at.instant}` : empty(sql))
  const [row] = await sql<DecidingRow[]>`
    with d as (${deciding(sql, accountId, question)})
    select d.id, d.site_id, d.accepted, d.preferences -> ${purpose}::text as answer, d.policy_version, d.version,
      d.created_at, d.expires_at, d.notice_locale, d.notice_entry,
      (
        select max(h.created_at) from consent_history h
        where h.account_id = ${accountId} and h.consent_id = d.id and h.version <= d.version
          and h.action in ('created', 'updated')
      ) as stated_at,
      exists (
        select from consent_history h
        where h.account_id = ${accountId} and h.consent_id = d.id and h.version < d.version and h.accepted
          and h.preferences -> ${purpose}::text = 'true'
      ) as was_given,
      (
        select jsonb_agg(t.language order by t.language collate "C") from notice_texts t
        where t.account_id = ${accountId} and t.site_id = n.site_id and t.policy_version = n.policy_version
      ) as languages,
      n.purposes, n.controller, n.valid_for, n.effective_from, e.created_at as published_at,
      r.policy_version as renewal_version, r.published_at as renewal_published_at,
      r.effective_from as renewal_effective_from
    from d
    left join notices n on n.account_id = ${accountId} and n.site_id = d.site_id
      and n.policy_version = d.policy_version and n.published_entry = d.notice_entry
    left join account_entries e on e.account_id = ${accountId} and e.version = n.published_entry
    left join lateral (
      select n.policy_version, n.effective_from, e.created_at as published_at
      from notices n
      join account_entries e on e.account_id = ${accountId} and e.version = n.published_entry
      join log_entries l on l.account_id = ${accountId} and l.consent_id = ${accountId} and l.version = n.published_entry
      where n.account_id = ${accountId} and n.site_id = d.site_id and n.policy_version > d.policy_version
        and n.requires_renewal and l.leaf_index is not null ${untilThen(sql`e.created_at`)}
        and (n.effective_from is null or n.effective_from <= ${now})
      order by n.policy_version desc limit 1
    ) r on true`
  return row
}
