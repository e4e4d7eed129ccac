import type { Fragment, Sql } from 'postgres'

export interface Answers {
  readonly subject: Fragment
  readonly site: Fragment
  /** Key of the preferences; null for all. */
  readonly purpose: Fragment | null
  /** True to ignore imported answers. */
  readonly onlyWitnessed: boolean
  /** Null for the current state, regardless of the nodes' clocks. */
  readonly at: { readonly instant: Date; readonly lastId: string } | null
}

const largestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * Selects the live record with a subject's newest answer on a site: the record in which the answer for the purpose
 * was made or changed last, unless an imported answer was given after that. An update that leaves the answer as it
 * was, such as the withdrawal of another purpose, makes no newer answer. An imported record counts as witnessed if an
 * update here changed `accepted`, or the answer for the purpose, since its last import. Of a subject with more than
 * 1,000 records on the site, the newest 1,000 are compared. The fragments must not use the aliases `c`, `h` and `i`.
 * Site and id are compared as a row: otherwise a generic plan prefers the index without the site. The limit is a
 * literal: for a parameter the planner assumes a tenth of the table.
 */
export function newestAnswer(
  sql: Sql,
  accountId: string,
  { subject, site, purpose, onlyWitnessed, at }: Answers,
): Fragment {
  const entries = sql`consent_history h where h.account_id = ${accountId} and h.consent_id = c.id`
  const untilThen = at ? sql`and coalesce(h.given_at, h.created_at) <= ${at.instant}` : sql``
  const answer = purpose ? sql`-> ${purpose}` : sql``
  const isChanged = sql`(c.version > 1 and exists (
    select 1 from (
      select i.accepted, i.preferences from consent_history i
      where i.account_id = ${accountId} and i.consent_id = c.id and i.action = 'imported' order by i.version desc limit 1
    ) i, ${entries} and h.action = 'updated' ${untilThen}
      and (h.accepted, h.preferences ${answer}) is distinct from (i.accepted, i.preferences ${answer})))`
  const given = sql`h.accepted, h.preferences ${answer}`
  const before = sql`lag(h.accepted) over w, lag(h.preferences ${answer}) over w`
  const answeredHere = sql`(
    select h.created_at from (
      select h.created_at, h.version, (${given}) is distinct from (${before}) as is_new
      from ${entries} and h.action in ('created', 'updated') ${untilThen} window w as (order by h.version)
    ) h where h.is_new order by h.version desc limit 1)`
  const isLive = at ? sql`(c.deleted_at is null or c.deleted_at > ${at.instant})` : sql`c.deleted_at is null`
  const state = at
    ? sql`join lateral (select h.* from ${entries} ${untilThen} order by h.version desc limit 1) h
        on h.action not in ('deleted', 'purged')`
    : sql`cross join lateral (select c.version, c.accepted, c.preferences, c.policy_version) h`
  const columns = sql`c.id, c.created_at, c.expires_at, c.notice_entry, c.notice_locale, c.origin_system, c.origin_id,
    c.origin_evidence, h.version, h.accepted, h.preferences, h.policy_version`
  const witnessed = sql`
    select ${columns}, ${answeredHere} as answered_at, true as witnessed
    from (
      select c.* from consents c
      where c.account_id = ${accountId} and c.subject_id = ${subject} and c.site_id >= ${site}
        and (c.site_id, c.id) <= (${site}, ${at?.lastId ?? largestId}::uuid) and ${isLive}
      order by c.site_id desc, c.id desc limit 1000
    ) c ${state}
    where c.given_at is null or ${isChanged}
    order by answered_at desc nulls last, c.id desc limit 1`
  if (onlyWitnessed) return witnessed
  const imported = (givenAt: Fragment, condition: Fragment) => sql`
    select ${columns}, ${givenAt} as answered_at, false as witnessed
    from consents c ${state}
    where c.account_id = ${accountId} and c.subject_id = ${subject} and c.site_id = ${site}
      and c.given_at is not null and ${isLive} and not ${isChanged} ${condition}
    order by answered_at desc, c.id desc limit 1`
  const givenThen = sql`(select max(h.given_at) from ${entries} ${untilThen})`
  const last = sql`c.given_at`
  const all = at
    ? sql`(${imported(last, sql`and c.given_at <= ${at.instant}`)})
        union all (${imported(givenThen, sql`and c.given_at > ${at.instant} and c.version > 1`)})`
    : sql`(${imported(last, sql``)})`
  return sql`
    select * from ((${witnessed}) union all ${all}) c
    order by c.answered_at desc, c.witnessed desc, c.id desc limit 1`
}
