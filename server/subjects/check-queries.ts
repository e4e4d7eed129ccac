import type { Fragment, Sql } from 'postgres'
import { newestAnswer } from '../consents/newest-answer.ts'
import { empty } from '../db/fragments.ts'
import { andReached, type Reach } from '../db/reach.ts'

export interface Question {
  readonly subjectId: string
  readonly purpose: string
  readonly siteId: string | undefined
  readonly onlyWitnessed: boolean
  readonly at: { readonly instant: Date; readonly lastId: string } | null
  readonly now: Date
}

export interface DecidingRow {
  id: string
  site_id: string
  accepted: boolean
  answer: unknown
  policy_version: number
  version: number
  created_at: Date
  /** The importer's time, for an imported answer. */
  stated_at: Date
  /** True if the answer for the purpose was given to this service. */
  witnessed: boolean
  given_at: Date | null
  origin_system: string | null
  origin_id: string | null
  origin_evidence: string | null
  was_given: boolean
  was_answered: boolean
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

/** Selects the newest answer of each site; of these, the newest that has the purpose, else the newest. */
function deciding(sql: Sql, reach: Reach, { subjectId, purpose, siteId, onlyWitnessed, at }: Question): Fragment {
  const { accountId } = reach
  const of = { subject: sql`${subjectId}`, site: sql`s.id`, purpose: sql`${purpose}::text`, onlyWitnessed, at }
  return sql`
    select s.id as site_id, a.* from sites s
    cross join lateral (${newestAnswer(sql, accountId, of)}) a
    where s.account_id = ${accountId} ${andReached(sql, reach, sql`s.id`)} ${siteId === undefined ? empty(sql) : sql`and s.id = ${siteId}`}
    order by a.preferences ? ${purpose}::text desc, a.answered_at desc, a.id desc limit 1`
}

/** Returns undefined if the subject had no live record. One statement, so that no change comes in between. */
export async function findDeciding(sql: Sql, reach: Reach, question: Question): Promise<DecidingRow | undefined> {
  const { accountId } = reach
  const { purpose, at, now } = question
  const untilThen = (instant: Fragment) => (at ? sql`and ${instant} <= ${at.instant}` : empty(sql))
  const [row] = await sql<DecidingRow[]>`
    with d as (${deciding(sql, reach, question)})
    select d.id, d.site_id, d.accepted, d.preferences -> ${purpose}::text as answer, d.policy_version, d.version,
      d.created_at, d.expires_at, d.notice_locale, d.notice_entry, d.origin_system, d.origin_id, d.origin_evidence,
      d.witnessed, case when d.witnessed then said.stated_at else said.given_at end as stated_at, said.given_at,
      exists (
        select 1 from consent_history h
        where h.account_id = ${accountId} and h.consent_id = d.id and h.version < d.version and h.accepted
          and h.preferences -> ${purpose}::text = 'true'
      ) as was_given,
      exists (
        select 1 from consent_history h
        where h.account_id = ${accountId} and h.consent_id = d.id and h.version < d.version
          and jsonb_typeof(h.preferences -> ${purpose}::text) = 'boolean'
      ) as was_answered,
      (
        select jsonb_agg(t.language order by t.language collate "C") from notice_texts t
        where t.account_id = ${accountId} and t.site_id = n.site_id and t.policy_version = n.policy_version
      ) as languages,
      n.purposes, n.controller, n.valid_for, n.effective_from, e.created_at as published_at,
      r.policy_version as renewal_version, r.published_at as renewal_published_at,
      r.effective_from as renewal_effective_from
    from d
    cross join lateral (
      select max(coalesce(h.given_at, h.created_at)) as stated_at, max(h.given_at) as given_at from consent_history h
      where h.account_id = ${accountId} and h.consent_id = d.id and h.version <= d.version
        and h.action in ('created', 'imported', 'updated')
    ) said
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
