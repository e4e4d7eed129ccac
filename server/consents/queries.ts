import type { Fragment, JSONValue, Sql } from 'postgres'
import type { Actor, State } from '../../src/evidence/chain.ts'
import type { Reported } from '../../src/evidence/circumstances.ts'
import { empty, staticFragment, toArrayLiteral } from '../db/fragments.ts'
import { andReached, type Reach } from '../db/reach.ts'
import { andFilters } from './filters.ts'
import { newestAnswer } from './newest-answer.ts'
import {
  expiringParts,
  joinedParts,
  plainColumns,
  rareColumns,
  recordParts,
  type WithParts,
  withJson,
} from './record-text.ts'
import type {
  ActionEntry,
  BatchLink,
  ConsentJson,
  DeletedRow,
  EntryRow,
  EventRow,
  ExpiryFilters,
  FoundConsent,
  ListFilters,
  PageParts,
  StateRow,
} from './rows.ts'

const andLive = staticFragment(sql => sql`and deleted_at is null`)
const andDeleted = staticFragment(sql => sql`and deleted_at is not null`)
const andAccepted = staticFragment(sql => sql`and accepted`)
const andNotAccepted = staticFragment(sql => sql`and not accepted`)

const wholeParts = staticFragment(sql => sql`${recordParts(sql)} as parts`)
const idParts = staticFragment(sql => sql`'{"id":"' || id || '"}' as parts`)

/** `minimal` returns only the id (`Prefer: return=minimal`). */
export type View = 'whole' | 'minimal'

export function viewParts(sql: Sql, view: View): Fragment {
  return view === 'minimal' ? idParts(sql) : wholeParts(sql)
}

export function viewColumns(sql: Sql, view: View): Fragment {
  return view === 'minimal' ? idColumn(sql) : allColumns(sql)
}

const idColumn = staticFragment(sql => sql`id`)
const allColumns = staticFragment(sql => sql`*`)

export const intoLog = staticFragment(sql => sql`insert into log_entries (account_id, consent_id, version, hash)`)

/**
 * CTEs that write the audit and log entries of the CTE `changed`, with hashes from the CTE `links`. The join with the
 * account's row lets Citus write on one node.
 */
export function auditAndLog(
  sql: Sql,
  accountId: string,
  {
    action,
    actor,
    gpc = false,
    circumstances,
    erased = false,
    sealed = sql`null::jsonb`,
  }: Omit<ActionEntry, 'link'> & { readonly sealed?: Fragment },
): Fragment {
  return sql`audit as (
      insert into consent_history (
        account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by, actor_id,
        created_at, salt, payload_hash, hash, gpc, circumstances, erased, sealed)
      select a.account_id, c.id, c.version, ${action}, c.accepted, c.preferences, c.policy_version, ${actor.kind},
        ${actor.id}::uuid, l.at, l.salt, l.payload_hash, l.hash, ${gpc || null}::boolean,
        ${circumstances ? sql.json(circumstances as JSONValue) : null}::jsonb, ${erased || null}::boolean, ${sealed}
      from changed c join links l on l.id = c.id join accounts a on a.account_id = ${accountId}
    ), log as (
      ${intoLog(sql)}
      select a.account_id, c.id, c.version, l.hash
      from changed c join links l on l.id = c.id join accounts a on a.account_id = ${accountId}
    )`
}

/**
 * CTEs `links`, and `locked`: ids of the records that meet `condition`. Order and `skip locked` prevent deadlocks. The
 * update must compare versions: Citus 13 cannot read rows that a statement both locks and joins.
 */
export function linksAndLocks(sql: Sql, accountId: string, links: readonly BatchLink[], condition: Fragment): Fragment {
  const column = (name: Exclude<keyof BatchLink, 'sealed'>) => toArrayLiteral(links.map(link => link[name]))
  const sealed = toArrayLiteral(links.map(link => (link.sealed ? JSON.stringify(link.sealed) : null)))
  return sql`links as (
      select * from unnest(
        ${column('id')}::uuid[], ${column('version')}::integer[], ${column('at')}::timestamptz[],
        ${column('salt')}::bytea[], ${column('payloadHash')}::bytea[], ${column('hash')}::bytea[], ${sealed}::jsonb[]
      ) as links (id, version, at, salt, payload_hash, hash, sealed)
    ), locked as (
      select id from consents
      where account_id = ${accountId} and ${among(sql, sql`id`, links)} and ${condition}
      order by id for update skip locked
    )`
}

/**
 * Condition that an id is in a batch. Repeat it wherever a batch is joined: the planner may read the whole table for
 * each record.
 */
export function among(sql: Sql, id: Fragment, records: readonly { readonly id: string }[]): Fragment {
  return sql`${id} = any (${toArrayLiteral(records.map(record => record.id))}::uuid[])`
}

/** Omits archived sites. */
export async function findPolicyVersions(
  sql: Sql,
  accountId: string,
  siteIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await sql<{ id: string; policy_version: number }[]>`
    select id, policy_version from sites
    where account_id = ${accountId} and id = any (${toArrayLiteral(siteIds)}::uuid[]) and archived_at is null`
  return new Map(rows.map(row => [row.id, row.policy_version]))
}

/** Returns records in any order. The subselect hides the array's length; otherwise each call would be planned anew. */
export async function findConsentsJson(
  sql: Sql,
  reach: Reach,
  ids: readonly string[],
  includeDeleted: boolean,
): Promise<FoundConsent[]> {
  const rows = await sql<Parts<FoundConsent>[]>`
    select id, subject_id, ${wholeParts(sql)} from consents
    where account_id = ${reach.accountId} and id = any ((select ${toArrayLiteral(ids)}::uuid[])::uuid[])
      ${andReached(sql, reach)} ${includeDeleted ? empty(sql) : andLive(sql)}`
  return rows.map(withJson)
}

/** A row before its text is made. */
export type Parts<Row extends ConsentJson> = Omit<Row, 'json'> & WithParts

export interface LiveState extends StateRow, ConsentJson {
  site_id: string
  notice_entry: number | null
}

export const liveState = staticFragment(
  sql => sql`id, version, chain_head, updated_at, accepted, preferences, policy_version, site_id, notice_entry,
    ${wholeParts(sql)}`,
)

export async function findConsent(sql: Sql, reach: Reach, id: string): Promise<LiveState | undefined> {
  const [row] = await sql<Parts<LiveState>[]>`
    select ${liveState(sql)} from consents
    where account_id = ${reach.accountId} and id = ${id} ${andReached(sql, reach)} ${andLive(sql)}`
  return row && withJson(row)
}

/** Of the entry with this version. */
export async function findCircumstances(
  sql: Sql,
  { accountId }: Reach,
  id: string,
  version: number,
): Promise<Reported | null> {
  const [row] = await sql<{ circumstances: Reported | null }[]>`
    select circumstances from consent_history
    where account_id = ${accountId} and consent_id = ${id} and version = ${version}`
  return row?.circumstances ?? null
}

export interface DeletedState extends StateRow, ConsentJson {
  deleted_at: Date | null
  /** True if an erasure request covers it. */
  is_erased: boolean
  is_purged: boolean
}

/** Condition, on `h`, of the last entry of a row of consents. */
function isLastEntry(sql: Sql, accountId: string, condition: Fragment): Fragment {
  return sql`exists (
    select 1 from consent_history h
    where h.account_id = ${accountId} and h.consent_id = consents.id and h.version = consents.version and ${condition})`
}

export async function findDeletedState(sql: Sql, reach: Reach, id: string): Promise<DeletedState | undefined> {
  const { accountId } = reach
  const [row] = await sql<Parts<DeletedState>[]>`
    select id, version, chain_head, updated_at, accepted, preferences, policy_version, consents.deleted_at,
      ${isLastEntry(sql, accountId, sql`h.erased`)} as is_erased,
      ${isLastEntry(sql, accountId, sql`h.action = 'purged'`)} as is_purged, ${wholeParts(sql)}
    from consents where account_id = ${accountId} and id = ${id} ${andReached(sql, reach)}`
  return row && withJson(row)
}

const andSitesPolicy = staticFragment(
  sql => sql`and exists (
    select 1 from sites s
    where s.account_id = consents.account_id and s.id = consents.site_id and s.policy_version = consents.policy_version
  )`,
)

/** Returns undefined if the version has changed. One statement, like `insertConsents`. */
export async function updateConsent(
  sql: Sql,
  accountId: string,
  state: State & {
    readonly deleted_at: Date | null
    readonly expiresAt: Date | null | undefined
    readonly isSitesPolicy?: boolean
    /** SHA-256 of the page's request that this change answers. */
    readonly requestHash?: Buffer
  },
  { link, ...entry }: ActionEntry,
): Promise<ConsentJson | undefined> {
  const { id, version, at } = link
  const [row] = await sql<WithParts[]>`
    with links as (
      select ${id}::uuid as id, ${at}::timestamptz as at, ${link.salt}::bytea as salt,
        ${link.payloadHash}::bytea as payload_hash, ${link.hash}::bytea as hash
    ), changed as (
      update consents set
        accepted = ${state.accepted}, preferences = ${sql.json(state.preferences as JSONValue)}, updated_at = ${at},
        deleted_at = ${state.deleted_at}, version = ${version + 1},
        chain_head = ${link.hash},
        expires_at = ${state.expiresAt === undefined ? sql`expires_at` : sql`${state.expiresAt}`},
        gpc = ${entry.action === 'updated' ? sql`${entry.gpc || null}` : sql`gpc`},
        request_hash = ${state.requestHash ?? null}
      where account_id = ${accountId} and id = ${id} and version = ${version}
        ${state.isSitesPolicy ? andSitesPolicy(sql) : empty(sql)}
      returning *
    ), ${auditAndLog(sql, accountId, entry)}
    select ${wholeParts(sql)} from changed`
  return row && withJson(row)
}

/**
 * Returns the deleted records, without changed and locked ones. With `erased` an erasure request covers them, deleted
 * earlier or now.
 */
export function deleteRecords(
  sql: Sql,
  accountId: string,
  links: readonly BatchLink[],
  { actor, erased }: { readonly actor: Actor; readonly erased: boolean },
): Promise<DeletedRow[]> {
  return sql<DeletedRow[]>`
    with ${linksAndLocks(sql, accountId, links, sql`purged_at is null`)},
    changed as (
      update consents c set
        version = l.version + 1, chain_head = l.hash, updated_at = l.at, deleted_at = coalesce(c.deleted_at, l.at)
      from locked join links l on l.id = locked.id
      where c.account_id = ${accountId} and c.id = locked.id and c.version = l.version
        and ${among(sql, sql`c.id`, links)}
      returning c.*
    ), ${auditAndLog(sql, accountId, { action: 'deleted', actor, erased })}
    select id, site_id, deleted_at from changed`
}

/** One row, because parsing fifty takes as long as the search: up to `limit` records and the next one, for `toPage`. */
export function findPage(sql: Sql, reach: Reach, filters: ListFilters, limit: number): Promise<PageParts[]> {
  const runs = listRuns(sql, reach, filters)
  return sql<PageParts[]>`
    select ${joinedParts(sql)} as parts
    from (select ${recordParts(sql)} as parts from (${runs}) as c order by id desc limit ${limit + 1}) as page`
}

/**
 * Selects the newest records of a list. Most indexes separate live from deleted and accepted from other records: each
 * combination is one run in index order, and the runs are merged. Without its own order and limit, a run is read and
 * sorted whole. The limit is a literal: for a parameter the planner assumes a tenth of the table. A run selects only
 * the page's columns: with more, each record is built twice. Of several reachable sites each has runs of its own.
 */
function listRuns(sql: Sql, { accountId, siteIds }: Reach, filters: ListFilters): Fragment {
  const { accepted, include_deleted: includeDeleted = false, before, ...others } = filters
  const narrowed = sql`${andFilters(sql, others)} ${before === undefined ? empty(sql) : sql`and id < ${before}`}`
  const sites = siteIds && toArrayLiteral(siteIds)
  const runOf = (state: Fragment, answer: Fragment, site = empty(sql)) => sql`
    select ${plainColumns(sql)}, created_at, updated_at, deleted_at, ${rareColumns(sql)}
    from consents where account_id = ${accountId} ${narrowed} ${state} ${answer} ${site}
    order by id desc limit 101`
  const run = (state: Fragment, answer: Fragment) =>
    sites === null
      ? sql`(${runOf(state, answer)})`
      : sql`(select r.* from unnest(${sites}::uuid[]) as reached (site)
          cross join lateral (${runOf(state, answer, sql`and site_id = reached.site`)}) r order by id desc limit 101)`
  const answers =
    accepted === undefined
      ? [andAccepted(sql), andNotAccepted(sql)]
      : [accepted ? andAccepted(sql) : andNotAccepted(sql)]
  const { from: _, to: __, ...narrowing } = { ...others, accepted }
  const isAll = includeDeleted && Object.values(narrowing).every(value => value === undefined)
  if (others.subject_id !== undefined || isAll) {
    const [answer = empty(sql)] = accepted === undefined ? [] : answers
    return run(includeDeleted ? empty(sql) : andLive(sql), answer)
  }
  const states = includeDeleted ? [andLive(sql), andDeleted(sql)] : [andLive(sql)]
  return states
    .flatMap(state => answers.map(answer => run(state, answer)))
    .reduce((runs, next) => sql`${runs} union all ${next}`)
}

/** Like `findPage`, soonest first; excludes `from`, includes `to`. */
export function findExpiring(sql: Sql, reach: Reach, filters: ExpiryFilters, limit: number): Promise<PageParts[]> {
  const { after } = filters
  return sql<PageParts[]>`
    select ${joinedParts(sql)} as parts
    from (
      select ${expiringParts(sql)} as parts
      from (
        select ${plainColumns(sql)}, created_at, updated_at, deleted_at, ${rareColumns(sql)}, expires_at from consents
        where account_id = ${reach.accountId} ${andReached(sql, reach)} ${andExpiring(sql, filters)}
          ${after ? sql`and (expires_at, id) > (${after.at}::timestamptz, ${after.id}::uuid)` : empty(sql)}
        order by expires_at, id limit 101
      ) as c order by expires_at, id limit ${limit + 1}
    ) as page`
}

function andExpiring(sql: Sql, { siteId, from, to }: ExpiryFilters): Fragment {
  return sql`and expires_at is not null and deleted_at is null and accepted
    and expires_at <= ${to} ${from ? sql`and expires_at > ${from}` : empty(sql)}
    ${siteId === undefined ? empty(sql) : sql`and site_id = ${siteId}`}`
}

export async function countExpiring(sql: Sql, reach: Reach, filters: ExpiryFilters): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::float8 as count from consents
    where account_id = ${reach.accountId} ${andReached(sql, reach)} ${andExpiring(sql, filters)}`
  return row?.count ?? 0
}

export async function countConsents(sql: Sql, reach: Reach, filters: ListFilters): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::float8 as count from consents
    where account_id = ${reach.accountId} ${andReached(sql, reach)} ${andFilters(sql, filters)}
      ${filters.include_deleted ? empty(sql) : andLive(sql)}`
  return row?.count ?? 0
}

export function findHistory(
  sql: Sql,
  reach: Reach,
  id: string,
): Promise<(EntryRow & Pick<FoundConsent, 'subject_id'>)[]> {
  return sql<(EntryRow & Pick<FoundConsent, 'subject_id'>)[]>`
    select c.subject_id, h.consent_id, h.version, h.action, h.accepted, h.preferences, h.policy_version, h.changed_by, h.actor_id,
      h.created_at, h.salt, h.payload_hash, h.hash, h.given_at, h.file_sha256, h.gpc, h.circumstances, h.erased, h.sealed,
      case when h.version = coalesce(max(h.version) filter (where h.action = 'purged') over (), 1)
        then c.record_hash end as record_hash
    from consent_history h join consents c on c.account_id = h.account_id and c.id = h.consent_id
    where h.account_id = ${reach.accountId} and h.consent_id = ${id} ${andReached(sql, reach, sql`c.site_id`)}
    order by h.version`
}

export interface ActorName {
  actor_id: string
  name: string
}

export function findActorNames(sql: Sql, accountId: string, id: string): Promise<ActorName[]> {
  return sql<ActorName[]>`
    select distinct h.actor_id, coalesce(k.name, s.name, l.email) as name
    from consent_history h
    left join api_keys k on k.account_id = h.account_id and k.id = h.actor_id
    left join sites s on s.account_id = h.account_id and s.id = h.actor_id
    left join logins l on l.account_id = h.account_id and l.user_id = h.actor_id
    where h.account_id = ${accountId} and h.consent_id = ${id} and h.actor_id is not null`
}

/** Returns fields that the record hash covers but the record does not show. */
export async function findUnshown(
  sql: Sql,
  accountId: string,
  id: string,
): Promise<{ ip_network: string | null; notice_entry: number | null }> {
  const [row] = await sql<{ ip_network: string | null; notice_entry: number | null }[]>`
    select ip_network, notice_entry from consents where account_id = ${accountId} and id = ${id}`
  return row ?? { ip_network: null, notice_entry: null }
}

/** One statement, so that no change comes in between. */
export function findEvents(sql: Sql, reach: Reach, id: string, limit: number): Promise<EventRow[]> {
  return sql<EventRow[]>`
    select c.site_id, c.consent_id, c.subject_id, c.country, c.region, c.user_agent, c.ip_network,
      c.notice_locale, c.notice_entry, c.origin_system, c.origin_id, c.origin_evidence, c.version as record_version,
      c.record_hash, c.chain_head, c.expires_at, h.version, h.action, h.accepted, h.preferences, h.policy_version, h.changed_by, h.actor_id,
      h.created_at, h.salt, h.payload_hash, h.hash, h.given_at, h.file_sha256, h.gpc, h.circumstances, h.erased
    from consents c
    join consent_history h on h.account_id = c.account_id and h.consent_id = c.id
    where c.account_id = ${reach.accountId} and c.id = ${id} ${andReached(sql, reach, sql`c.site_id`)} and c.deleted_at is null
    order by h.version limit ${limit}`
}

/** An identifier with more, such as `guest`, is not a person. */
const mostRecordsOfPerson = 1000

export interface NewestAnswerRow {
  /** Of the subject on the site, live; null if they were not compared, and then there is no other row. */
  compared_records: number | null
  purpose: string | null
  id: string | null
  answered_at: Date | null
}

/**
 * The newest answers about each purpose, or without one about the whole, of a subject on a site, if it is a person. One
 * statement, so that what is counted is what is compared.
 */
export function findNewestAnswers(
  sql: Sql,
  accountId: string,
  { subjectId, siteId }: { readonly subjectId: string; readonly siteId: string },
  purposes: readonly string[],
): Promise<NewestAnswerRow[]> {
  const of = { subject: sql`${subjectId}`, site: sql`${siteId}`, onlyWitnessed: false, at: null }
  const answers =
    purposes.length === 0
      ? sql`select null as purpose, a.id, a.answered_at from (${newestAnswer(sql, accountId, { ...of, purpose: null })}) a`
      : sql`
        select p.purpose, a.id, a.answered_at from unnest(${toArrayLiteral(purposes)}::text[]) as p (purpose)
        cross join lateral (${newestAnswer(sql, accountId, { ...of, purpose: sql`p.purpose` })}) a`
  return sql<NewestAnswerRow[]>`
    select n.compared_records, a.purpose, a.id, a.answered_at
    from (
      select case when count(*) <= ${mostRecordsOfPerson} then count(*)::integer end as compared_records from (
        select 1 from consents
        where account_id = ${accountId} and subject_id = ${subjectId} and site_id = ${siteId} and deleted_at is null
        limit ${mostRecordsOfPerson + 1}
      ) r) n
    left join lateral (${answers}) a on n.compared_records is not null`
}

export async function findOldestKey(sql: Sql, before: Date): Promise<Date | null> {
  const [row] = await sql<{ oldest: Date | null }[]>`
    select min(created_at) as oldest from idempotency_keys where created_at < ${before}`
  return row?.oldest ?? null
}

export async function deleteKeys(sql: Sql, before: Date): Promise<void> {
  await sql`delete from idempotency_keys where created_at < ${before}`
}
