// Pieces of SQL that the queries are made of.

import type { Fragment, JSONValue, Sql } from 'postgres'
import type { Actor, Identity, State } from '../../src/evidence/chain.ts'
import { arrayOf } from '../db/array.ts'
import type { BatchLink, Entry, EntryRow, ListFilters, Shown, ShownPage, StateRow } from './rows.ts'

/** A piece of SQL without parameters, made once for each pool: a piece that is made costs as much as a statement. */
export function constant(make: (sql: Sql) => Fragment): (sql: Sql) => Fragment {
  const made = new WeakMap<Sql, Fragment>()
  return sql => {
    const known = made.get(sql)
    if (known) return known
    const fragment = make(sql)
    made.set(sql, fragment)
    return fragment
  }
}

export const nothing = constant(sql => sql``)

/** The condition that a record is not deleted. */
export const live = constant(sql => sql`and deleted_at is null`)

const plain = constant(
  sql =>
    sql`id, site_id, consent_id, subject_id, country, region, user_agent, accepted, preferences, policy_version`,
)

/** The columns that `shown` is made of. */
const shownColumns = constant(sql => sql`${plain(sql)}, created_at, updated_at, deleted_at`)

/**
 * A record as the API shows it (service specification section 2.1), as the text of its JSON: without its address, chain and
 * version. PostgreSQL writes it in less time than it takes to read its columns and write them anew.
 */
export const shown = constant(
  sql => sql`row_to_json((select r from (
    select ${plain(sql)},
      to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
      to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as updated_at,
      to_char(deleted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as deleted_at
  ) r))::text as shown`,
)

/** What an answer tells of a record: all, or its id alone where the client prefers that. */
export type View = 'whole' | 'minimal'

const shownId = constant(sql => sql`'{"id":"' || id || '"}' as shown`)

/** A record as an answer tells of it, as the text of its JSON. */
export function viewed(sql: Sql, view: View): Fragment {
  return view === 'minimal' ? shownId(sql) : shown(sql)
}

/** The CTE `e`: the link of the one entry that a statement writes. */
function oneLink(sql: Sql, id: string, { at, link }: Entry) {
  return sql`e as (
      select ${id}::uuid as id, ${at}::timestamptz as at, ${link.salt}::bytea as salt,
        ${link.payloadHash}::bytea as payload_hash, ${link.hash}::bytea as hash
    )`
}

export const intoHistory = constant(
  sql => sql`insert into consent_history (
    account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by, actor_id,
    created_at, salt, payload_hash, hash)`,
)

export const intoLog = constant(sql => sql`insert into log_entries (account_id, consent_id, version, hash)`)

/**
 * The CTEs `h` and `l`: the audit entries of the records that the CTE `c` has written, which are their states after the
 * event, with their links in the CTE `e`, and their places in the log that checkpoints are made of. The account's own row is
 * joined so that a cluster writes them where the account is, and sends them nowhere else.
 */
export function insertEntries(
  sql: Sql,
  accountId: string,
  { action, actor }: Pick<Entry, 'action' | 'actor'>,
) {
  return sql`h as (
      ${intoHistory(sql)}
      select a.account_id, c.id, c.version, ${action}, c.accepted, c.preferences, c.policy_version, ${actor.kind},
        ${actor.id}::uuid, e.at, e.salt, e.payload_hash, e.hash
      from c join e on e.id = c.id join accounts a on a.account_id = ${accountId}
    ), l as (
      ${intoLog(sql)}
      select a.account_id, c.id, c.version, e.hash
      from c join e on e.id = c.id join accounts a on a.account_id = ${accountId}
    )`
}

/**
 * The CTEs `e` and `due`: the links of a batch, and those of its records that nobody else is writing; whether they are still
 * at the versions that the links were made for is left to the update. Their order and what they pass over keep two batches
 * from waiting for each other. Nothing is joined to the rows that are locked: Citus 13 cannot read the result of that.
 */
export function lockBatch(sql: Sql, accountId: string, links: readonly BatchLink[], isDue: Fragment) {
  const column = <Name extends keyof BatchLink>(name: Name) => arrayOf(links.map(link => link[name]))
  return sql`e as (
      select * from unnest(
        ${column('id')}::uuid[], ${column('version')}::integer[], ${column('at')}::timestamptz[],
        ${column('salt')}::bytea[], ${column('payloadHash')}::bytea[], ${column('hash')}::bytea[]
      ) as e (id, version, at, salt, payload_hash, hash)
    ), due as (
      select id from consents
      where account_id = ${accountId} and ${among(sql, sql`id`, links)} and ${isDue}
      order by id for update skip locked
    )`
}

/**
 * Whether an id is one of a batch. It is said wherever a batch is joined with a table: a planner that knows little of the
 * table would else go through all that the account has there, once for each record.
 */
export function among(sql: Sql, id: Fragment, records: readonly { readonly id: string }[]) {
  return sql`${id} = any (${arrayOf(records.map(record => record.id))}::uuid[])`
}

export function json(sql: Sql, { preferences }: State) {
  return sql.json(preferences as JSONValue)
}

/**
 * The records of a list, newest first, without those that no list shows at once (101, for a limit is at most 100): live and
 * deleted ones, and those that are accepted and the others, are apart in the indexes; each run is read in the order of its
 * index and merged with the rest, so that no row is read in vain. The key of all records, and the index of a subject's,
 * have them together.
 *
 * Each run has the order and a limit of its own, or PostgreSQL reads all of it and sorts; and that limit is no parameter,
 * or it plans the statement anew each time, for it thinks that a general plan reads a tenth of the table. No run has a column
 * that is not shown: each record would be put together once more.
 */
function listRuns(sql: Sql, accountId: string, filters: ListFilters): Fragment {
  const { siteId, subjectId, consentId, accepted, includeDeleted } = filters
  const rest = conditions(sql, filters)
  const run = (state: Fragment, answer: Fragment) => sql`(
    select ${shownColumns(sql)} from consents where account_id = ${accountId} ${rest} ${state} ${answer}
    order by id desc limit 101)`
  const answers = accepted === undefined ? [yes(sql), no(sql)] : [accepted ? yes(sql) : no(sql)]
  const isAll = includeDeleted && [siteId, consentId, accepted].every(filter => filter === undefined)
  if (subjectId !== undefined || isAll) {
    const [answer = nothing(sql)] = accepted === undefined ? [] : answers
    return run(includeDeleted ? nothing(sql) : live(sql), answer)
  }
  const states = includeDeleted ? [live(sql), deleted(sql)] : [live(sql)]
  return states
    .flatMap(state => answers.map(answer => run(state, answer)))
    .reduce((runs, next) => sql`${runs} union all ${next}`)
}

const deleted = constant(sql => sql`and deleted_at is not null`)
const yes = constant(sql => sql`and accepted`)
const no = constant(sql => sql`and not accepted`)

/** What every run of a list asks for. */
function conditions(
  sql: Sql,
  { siteId, subjectId, consentId, firstId, lastId, before }: ListFilters,
): Fragment {
  let all = nothing(sql)
  if (siteId !== undefined) all = sql`${all} and site_id = ${siteId}`
  if (subjectId !== undefined) all = sql`${all} and subject_id = ${subjectId}`
  if (consentId !== undefined) all = sql`${all} and consent_id = ${consentId}`
  if (firstId !== undefined) all = sql`${all} and id >= ${firstId}`
  if (lastId !== undefined) all = sql`${all} and id <= ${lastId}`
  if (before !== undefined) all = sql`${all} and id < ${before}`
  return all
}

interface RecordKey {
  readonly accountId: string
  readonly id: string
}

/** The present policy versions of those of some sites that the account has. */
export async function findPolicyVersions(
  sql: Sql,
  accountId: string,
  siteIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await sql<{ id: string; policy_version: number }[]>`
    select id, policy_version from sites
    where account_id = ${accountId} and id = any (${arrayOf(siteIds)}::uuid[])`
  return new Map(rows.map(row => [row.id, row.policy_version]))
}

/**
 * Records by their ids, live or, when asked for, deleted too; nothing of those that the account has not. The array is behind
 * a select of its own: where the planner sees its length it makes a plan for each call, which takes longer than to read.
 */
export function showConsents(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  includeDeleted: boolean,
): Promise<(Shown & { id: string })[]> {
  return sql<(Shown & { id: string })[]>`
    select id, ${shown(sql)} from consents
    where account_id = ${accountId} and id = any ((select ${arrayOf(ids)}::uuid[])::uuid[]) ${includeDeleted ? nothing(sql) : live(sql)}`
}

/** A live record by its id, with what a change of it goes on from. */
export async function findConsent(
  sql: Sql,
  { accountId, id }: RecordKey,
): Promise<(StateRow & Shown) | undefined> {
  const [row] = await sql<(StateRow & Shown)[]>`
    select id, version, chain_head, updated_at, accepted, preferences, policy_version, ${shown(sql)} from consents
    where account_id = ${accountId} and id = ${id} and deleted_at is null`
  return row
}

/**
 * Changes a live record, and writes the audit entry, in one statement; undefined where it is no longer at the version
 * that the change was made from.
 */
export async function updateConsent(
  sql: Sql,
  { accountId, id, version }: RecordKey & { readonly version: number },
  state: State & { readonly deleted_at: Date | null },
  entry: Entry,
): Promise<Shown | undefined> {
  const [row] = await sql<Shown[]>`
    with ${oneLink(sql, id, entry)}, c as (
      update consents set
        accepted = ${state.accepted}, preferences = ${json(sql, state)}, updated_at = ${entry.at},
        deleted_at = ${state.deleted_at}, version = ${version + 1}, chain_head = ${entry.link.hash}
      where account_id = ${accountId} and id = ${id} and version = ${version} and deleted_at is null
      returning *
    ), ${insertEntries(sql, accountId, entry)}
    select ${shown(sql)} from c`
  return row
}

/**
 * The first records of a list, newest first, at most `limit` of them, and never more than 100. One row, for the driver takes as
 * long to read fifty as PostgreSQL to find them.
 */
export function showPage(
  sql: Sql,
  accountId: string,
  filters: ListFilters,
  limit: number,
): Promise<ShownPage[]> {
  const runs = listRuns(sql, accountId, filters)
  return sql<ShownPage[]>`
    select coalesce(string_agg(shown, ',' order by n) filter (where n <= ${limit}), '') as records,
      max(id::text) filter (where n = ${limit}) as last, count(*) > ${limit} as is_cut
    from (
      select id, ${shown(sql)}, row_number() over (order by id desc) as n
      from (${runs}) as c order by id desc limit ${limit + 1}
    ) as page`
}

/** The audit trail of a record, oldest first; empty where the account has no such record. */
export function listEntries(sql: Sql, { accountId, id }: RecordKey): Promise<EntryRow[]> {
  return sql<EntryRow[]>`
    select h.consent_id, h.version, h.action, h.accepted, h.preferences, h.policy_version, h.changed_by, h.actor_id,
      h.created_at, h.salt, h.payload_hash, h.hash,
      case when h.action = case when bool_or(h.action = 'purged') over () then 'purged' else 'created' end
        then c.record_hash end as record_hash
    from consent_history h join consents c on c.account_id = h.account_id and c.id = h.consent_id
    where h.account_id = ${accountId} and h.consent_id = ${id} order by h.version`
}

/** When the oldest Idempotency-Key of before an instant was used; null where there is none. */
export async function findOldestKey(sql: Sql, before: Date): Promise<Date | null> {
  const [row] = await sql<{ oldest: Date | null }[]>`
    select min(created_at) as oldest from idempotency_keys where created_at < ${before}`
  return row?.oldest ?? null
}

/** Forgets the Idempotency-Keys of before an instant. */
export async function forgetKeys(sql: Sql, before: Date): Promise<void> {
  await sql`delete from idempotency_keys where created_at < ${before}`
}

/** How many records of a site. */
export interface SiteRecords {
  site_id: string
  records: number
}

/**
 * Deletes live records logically, with their audit entries, in one statement. Resolves to how many were written of each
 * site; the others have changed meanwhile, or somebody is at them.
 */
export function removeRecords(
  sql: Sql,
  accountId: string,
  links: readonly BatchLink[],
  actor: Actor,
): Promise<SiteRecords[]> {
  return sql<SiteRecords[]>`
    with ${lockBatch(sql, accountId, links, sql`deleted_at is null`)},
    c as (
      update consents c set
        version = e.version + 1, chain_head = e.hash, updated_at = e.at, deleted_at = e.at
      from due join e on e.id = due.id
      where c.account_id = ${accountId} and c.id = due.id and c.version = e.version and ${among(sql, sql`c.id`, links)}
      returning c.*
    ), ${insertEntries(sql, accountId, { action: 'deleted', actor })}
    select site_id, count(*)::integer as records from c group by site_id order by site_id`
}

/** An event of a live record, with what the record is beside. */
export interface EventRow extends Identity, Omit<EntryRow, 'consent_id' | 'record_hash'> {
  record_version: number
  record_hash: Buffer
  chain_head: Buffer
}

/**
 * The first events of a live record with the record itself, oldest first, in one statement: no change falls in between. None
 * where the account has no such record, or it is deleted.
 */
export function listEvents(sql: Sql, accountId: string, id: string, limit: number): Promise<EventRow[]> {
  return sql<EventRow[]>`
    select c.site_id, c.consent_id, c.subject_id, c.country, c.region, c.user_agent, c.ip_network,
      c.version as record_version, c.record_hash, c.chain_head, h.version, h.action, h.accepted, h.preferences,
      h.policy_version, h.changed_by, h.actor_id, h.created_at, h.salt, h.payload_hash, h.hash
    from consents c
    join consent_history h on h.account_id = c.account_id and h.consent_id = c.id
    where c.account_id = ${accountId} and c.id = ${id} and c.deleted_at is null
    order by h.version limit ${limit}`
}
