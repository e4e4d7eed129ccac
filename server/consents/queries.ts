import type { JSONValue, Sql } from 'postgres'
import type { Identity, State } from './chain.ts'
import type { ConsentRow, Entry, EntryRow, ListFilters } from './rows.ts'

interface RecordKey {
  readonly accountId: string
  readonly id: string
}

/** A site's current policy version; undefined where the account has no such site. */
export async function findPolicyVersion(
  sql: Sql,
  accountId: string,
  siteId: string,
): Promise<number | undefined> {
  const [row] = await sql<{ policy_version: number }[]>`
    select policy_version from sites where account_id = ${accountId} and id = ${siteId}`
  return row?.policy_version
}

/** Writes a record and its first audit entry in one statement; undefined where the account has no such site. */
export async function insertConsent(
  sql: Sql,
  accountId: string,
  record: Identity & State & { readonly id: string; readonly recordHash: Buffer },
  entry: Entry,
): Promise<ConsentRow | undefined> {
  const [row] = await sql<ConsentRow[]>`
    with site as (
      select id from sites where account_id = ${accountId} and id = ${record.site_id}
    ), c as (
      insert into consents (
        account_id, id, site_id, consent_id, subject_id, country, region, user_agent, ip_network, accepted,
        preferences, policy_version, version, record_hash, chain_head, created_at, updated_at)
      select ${accountId}::uuid, ${record.id}::uuid, site.id, ${record.consent_id}::text, ${record.subject_id}::text,
        ${record.country}::text, ${record.region}::text, ${record.user_agent}::text, ${record.ip_network}::cidr,
        ${record.accepted}::boolean, ${json(sql, record)}::jsonb, ${record.policy_version}::integer, 1,
        ${record.recordHash}::bytea, ${entry.link.hash}::bytea, ${entry.at}::timestamptz, ${entry.at}::timestamptz
      from site
      returning *
    ), h as (
      ${insertEntry(sql, entry)}
    )
    select ${columns(sql)} from c`
  return row
}

/** A record by its id, live or, when asked for, deleted. */
export async function findConsent(
  sql: Sql,
  { accountId, id }: RecordKey,
  includeDeleted: boolean,
): Promise<ConsentRow | undefined> {
  const [row] = await sql<ConsentRow[]>`
    select ${columns(sql)} from consents
    where account_id = ${accountId} and id = ${id} ${includeDeleted ? sql`` : sql`and deleted_at is null`}`
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
): Promise<ConsentRow | undefined> {
  const [row] = await sql<ConsentRow[]>`
    with c as (
      update consents set
        accepted = ${state.accepted}, preferences = ${json(sql, state)}, updated_at = ${entry.at},
        deleted_at = ${state.deleted_at}, version = ${version + 1}, chain_head = ${entry.link.hash}
      where account_id = ${accountId} and id = ${id} and version = ${version} and deleted_at is null
      returning *
    ), h as (
      ${insertEntry(sql, entry)}
    )
    select ${columns(sql)} from c`
  return row
}

/** Records newest first, at most `limit` of them. */
export function listConsents(
  sql: Sql,
  accountId: string,
  filters: ListFilters,
  limit: number,
): Promise<ConsentRow[]> {
  const { siteId, subjectId, consentId, accepted, firstId, lastId, before } = filters
  return sql<ConsentRow[]>`
    select ${columns(sql)} from consents
    where account_id = ${accountId}
      ${siteId === undefined ? sql`` : sql`and site_id = ${siteId}`}
      ${subjectId === undefined ? sql`` : sql`and subject_id = ${subjectId}`}
      ${consentId === undefined ? sql`` : sql`and consent_id = ${consentId}`}
      ${accepted === undefined ? sql`` : sql`and accepted = ${accepted}`}
      ${firstId === undefined ? sql`` : sql`and id >= ${firstId}`}
      ${lastId === undefined ? sql`` : sql`and id <= ${lastId}`}
      ${before === undefined ? sql`` : sql`and id < ${before}`}
      ${filters.includeDeleted ? sql`` : sql`and deleted_at is null`}
    order by id desc limit ${limit}`
}

/** The audit trail of a record, oldest first; empty where the account has no such record. */
export function listEntries(sql: Sql, { accountId, id }: RecordKey): Promise<EntryRow[]> {
  return sql<EntryRow[]>`
    select consent_id, action, accepted, preferences, policy_version, changed_by, actor_id, created_at, hash
    from consent_history where account_id = ${accountId} and consent_id = ${id} order by version`
}

/** The columns of a ConsentRow. */
function columns(sql: Sql) {
  return sql`id, site_id, consent_id, subject_id, country, region, user_agent, ip_network, accepted, preferences,
    policy_version, version, record_hash, chain_head, created_at, updated_at, deleted_at`
}

/** The audit entry of the record that the CTE `c` has written: the state after the event. */
function insertEntry(sql: Sql, { action, actor, at, link }: Entry) {
  return sql`
    insert into consent_history (
      account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by, actor_id,
      created_at, salt, payload_hash, hash)
    select account_id, id, version, ${action}, accepted, preferences, policy_version, ${actor.kind},
      ${actor.id}::uuid, ${at}::timestamptz, ${link.salt}::bytea, ${link.payloadHash}::bytea, ${link.hash}::bytea
    from c`
}

function json(sql: Sql, { preferences }: State) {
  return sql.json(preferences as JSONValue)
}
