import type { Fragment, Sql } from 'postgres'
import { sealedLimit } from '../../src/contract/index.ts'
import { newestAnswer } from '../consents/newest-answer.ts'
import { empty, staticFragment, toArrayLiteral } from '../db/fragments.ts'
import { andReached, type Reach } from '../db/reach.ts'

export interface Question {
  readonly subjectIds: readonly string[]
  readonly purpose: string
  readonly siteId: string | undefined
  readonly onlyWitnessed: boolean
  readonly at: { readonly instant: Date; readonly lastId: string } | null
  readonly now: Date
}

export interface DecidingRow {
  /** Of the subject among those of the question, from 1. */
  place: number
  id: string
  site_id: string
  accepted: boolean
  answer: unknown
  /** True if the preferences have the purpose. */
  is_named: boolean
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
  /** When the answer for the purpose was given. */
  answered_at: Date
  is_sealed?: true
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

/**
 * Selects the newest answer of each subject on each site; without `at` only that of these that decides, as `findNewest`
 * does.
 */
function deciding(sql: Sql, reach: Reach, { subjectIds, purpose, siteId, onlyWitnessed, at }: Question): Fragment {
  const { accountId } = reach
  const of = { subject: sql`q.subject_id`, site: sql`s.id`, purpose: sql`${purpose}::text`, onlyWitnessed, at }
  return sql`
    select q.place::integer as place, x.*
    from unnest(${toArrayLiteral(subjectIds)}::text[]) with ordinality q (subject_id, place)
    cross join lateral (
      select s.id as site_id, a.* from sites s
      cross join lateral (${newestAnswer(sql, accountId, of)}) a
      where s.account_id = ${accountId} ${andReached(sql, reach, sql`s.id`)} ${siteId === undefined ? empty(sql) : sql`and s.id = ${siteId}`}
        and exists (
          select 1 from consents o
          where o.account_id = ${accountId} and o.subject_id = q.subject_id and o.site_id = s.id
        )
      ${at ? empty(sql) : sql`order by a.preferences ? ${purpose}::text desc, a.answered_at desc, a.id desc limit 1`}
    ) x`
}

const noticeColumns = staticFragment(
  sql => sql`n.purposes, n.controller, n.valid_for, n.effective_from, e.created_at as published_at,
      r.policy_version as renewal_version, r.published_at as renewal_published_at,
      r.effective_from as renewal_effective_from`,
)

/** The notice `n` of the record `d`, its publication `e`, its languages `t`, and the notice `r` that requires a renewal. */
function joinNotices(sql: Sql, accountId: string, { at, now }: Pick<Question, 'at' | 'now'>): Fragment {
  return sql`
    left join notices n on n.account_id = ${accountId} and n.site_id = d.site_id
      and n.policy_version = d.policy_version and n.published_entry = d.notice_entry
    left join account_entries e on e.account_id = ${accountId} and e.version = n.published_entry
    left join lateral (
      select jsonb_agg(t.language order by t.language collate "C") as languages from notice_texts t
      where t.account_id = ${accountId} and t.site_id = n.site_id and t.policy_version = n.policy_version
    ) t on true
    left join lateral (
      select n.policy_version, n.effective_from, e.created_at as published_at
      from notices n
      join account_entries e on e.account_id = ${accountId} and e.version = n.published_entry
      join log_entries l on l.account_id = ${accountId} and l.consent_id = ${accountId} and l.version = n.published_entry
      where n.account_id = ${accountId} and n.site_id = d.site_id and n.policy_version > d.policy_version
        and n.requires_renewal and l.leaf_index is not null ${at ? sql`and e.created_at <= ${at.instant}` : empty(sql)}
        and (n.effective_from is null or n.effective_from <= ${now})
      order by n.policy_version desc limit 1
    ) r on true`
}

/** One statement, so that no change comes in between. */
export function findDeciding(sql: Sql, reach: Reach, question: Question): Promise<DecidingRow[]> {
  const { accountId } = reach
  const { purpose } = question
  return sql<DecidingRow[]>`
    with d as (${deciding(sql, reach, question)})
    select d.place, d.id, d.site_id, d.accepted, d.preferences -> ${purpose}::text as answer,
      d.preferences ? ${purpose}::text as is_named, d.policy_version, d.version,
      d.created_at, d.expires_at, d.notice_locale, d.notice_entry, d.origin_system, d.origin_id, d.origin_evidence,
      d.answered_at, d.witnessed, case when d.witnessed then said.stated_at else said.given_at end as stated_at, said.given_at,
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
      t.languages, ${noticeColumns(sql)}
    from d
    cross join lateral (
      select max(coalesce(h.given_at, h.created_at)) as stated_at, max(h.given_at) as given_at from consent_history h
      where h.account_id = ${accountId} and h.consent_id = d.id and h.version <= d.version
        and h.action in ('created', 'imported', 'updated')
    ) said
    ${joinNotices(sql, accountId, question)}`
}

/** A purged record of the subject as it was at the instant, with what its purge sealed. */
export interface SealedState
  extends Omit<DecidingRow, 'answer' | 'is_named' | 'was_given' | 'was_answered' | 'witnessed' | 'answered_at'> {
  answers: { version: number; preferences: Record<string, boolean> }[]
  /** Of the entries in `answers`: version, acceptance, the time in milliseconds, true if imported. */
  entries: [version: number, accepted: boolean, at: number, isImported: boolean][]
}

/** `subjectHmacs`: of the question's subjects. Newest record first. */
export function findSealedStates(
  sql: Sql,
  reach: Reach,
  subjectHmacs: readonly string[],
  question: Question & { readonly at: NonNullable<Question['at']> },
): Promise<SealedState[]> {
  const { accountId } = reach
  const { siteId, at } = question
  const time = sql`coalesce(h.given_at, h.created_at)`
  return sql<SealedState[]>`
    with d as (
      select q.place::integer as place, p.consent_id as id, p.site_id, p.created_at, p.notice_entry, p.origin_system,
        p.sealed->'answers' as answers, h.version, h.accepted, h.policy_version
      from unnest(${toArrayLiteral(subjectHmacs)}::text[]) with ordinality q (subject_hmac, place)
      cross join lateral (
        select s.consent_id, s.sealed, c.* from consent_history s
        cross join lateral (
          select site_id, created_at, notice_entry, origin_system from consents
          where account_id = ${accountId} and id = s.consent_id offset 0
        ) c
        where s.account_id = ${accountId} and s.sealed is not null and s.sealed->>'subject_hmac' = q.subject_hmac
          ${andReached(sql, reach, sql`c.site_id`)} ${siteId === undefined ? empty(sql) : sql`and c.site_id = ${siteId}`}
        order by s.consent_id desc limit ${sealedLimit}
      ) p
      join lateral (
        select h.version, h.action, h.accepted, h.policy_version from consent_history h
        where h.account_id = ${accountId} and h.consent_id = p.consent_id and ${time} <= ${at.instant}
        order by h.version desc limit 1
      ) h on h.action not in ('deleted', 'purged')
    )
    select d.place, d.id, d.site_id, d.accepted, d.policy_version, d.version, d.created_at, d.notice_entry, d.origin_system, d.answers,
      null::timestamptz as expires_at, null as notice_locale, null as origin_id, null as origin_evidence,
      said.stated_at, said.given_at, given.entries, t.languages, ${noticeColumns(sql)}
    from d
    cross join lateral (
      select max(${time}) as stated_at, max(h.given_at) as given_at from consent_history h
      where h.account_id = ${accountId} and h.consent_id = d.id and h.version <= d.version
        and h.action in ('created', 'imported', 'updated')
    ) said
    cross join lateral (
      select coalesce(jsonb_agg(jsonb_build_array(h.version, h.accepted,
        (extract(epoch from ${time}) * 1000)::bigint, h.action = 'imported') order by h.version), '[]') as entries
      from consent_history h
      where h.account_id = ${accountId} and h.consent_id = d.id and h.version <= d.version
        and h.version in (select (a->>'version')::integer from jsonb_array_elements(d.answers) a)
    ) given
    ${joinNotices(sql, accountId, question)}
    order by d.id desc`
}

export interface NearRow {
  /** Of the subject among those given, from 1. */
  place: number
  subject_id: string
}

/** Returns up to `limit` identifiers with live records for each subject. */
export function findNearOfMany(
  sql: Sql,
  reach: Reach,
  near: { readonly subjectIds: readonly string[]; readonly forms: readonly string[] },
  limit: number,
): Promise<NearRow[]> {
  const live = sql`where account_id = ${reach.accountId} ${andReached(sql, reach)} and deleted_at is null`
  return sql<NearRow[]>`
    select q.place::integer as place, n.subject_id
    from unnest(${toArrayLiteral(near.subjectIds)}::text[], ${toArrayLiteral(near.forms)}::text[])
      with ordinality q (subject_id, form, place)
    cross join lateral (
      select subject_id from (
        select subject_id from consents ${live} and subject_id = q.form
        union all
        select subject_id from consents ${live} and near_subject = q.form
      ) as near
      where subject_id <> q.subject_id
      group by subject_id order by subject_id collate "C" limit ${limit}
    ) n
    order by q.place, n.subject_id collate "C"`
}
