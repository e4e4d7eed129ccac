import type { Sql } from 'postgres'
import type { Identity, State } from '../../src/evidence/chain.ts'
import { claimKey, firstAnswers, insertEntries, json, live, nothing, oneLink, shown } from './fragments.ts'
import { listRuns } from './list-fragments.ts'
import type { Claim, Entry, EntryRow, FirstAnswer, ListFilters, Shown, StateRow } from './rows.ts'

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

/**
 * Writes a record, its first audit entry and the claim to its Idempotency-Key in one statement. Undefined, and nothing
 * written, where the account has no such site, the site no such policy (if it is said to have it) or the key is taken; of
 * twins in flight the second waits for the first.
 */
export async function insertConsent(
  sql: Sql,
  accountId: string,
  record: Identity & State & { readonly id: string; readonly recordHash: Buffer },
  entry: Entry,
  { claim, isSitesPolicy }: { readonly claim: Claim | null; readonly isSitesPolicy: boolean },
): Promise<Shown | undefined> {
  const { id, site_id, policy_version } = record
  const anyPolicy = !isSitesPolicy
  const site = () => sql`s.account_id = ${accountId} and s.id = ${site_id}
    and (s.policy_version = ${policy_version} or ${anyPolicy})`
  const [row] = await sql<Shown[]>`
    with ${oneLink(sql, id, entry)}, ${claim ? claimKey(sql, site(), id, entry.at, claim) : nothing(sql)}
    c as (
      insert into consents as c (
        account_id, id, site_id, consent_id, subject_id, country, region, user_agent, ip_network, accepted,
        preferences, policy_version, version, record_hash, chain_head, created_at, updated_at)
      select s.account_id, e.id, s.id, ${record.consent_id}::text, ${record.subject_id}::text,
        ${record.country}::text, ${record.region}::text, ${record.user_agent}::text, ${record.ip_network}::cidr,
        ${record.accepted}::boolean, ${json(sql, record)}::jsonb, ${policy_version}::integer, 1,
        ${record.recordHash}::bytea, e.hash, e.at, e.at
      from e, ${claim ? sql`k,` : nothing(sql)} sites s where ${site()}
      returning *
    ), ${insertEntries(sql, accountId, entry)}
    select ${shown(sql)} from c`
  return row
}

/**
 * The record that a key made, as it was then, and the hash of its body, which is empty once the record is purged; undefined
 * where the key made none.
 */
export async function findFirstAnswer(
  sql: Sql,
  accountId: string,
  key: string,
): Promise<FirstAnswer | undefined> {
  const [row] = await sql<FirstAnswer[]>`${firstAnswers(sql, accountId, sql`k.key = ${key}`)}`
  return row
}

/** A record by its id, live or, when asked for, deleted. */
export async function showConsent(
  sql: Sql,
  { accountId, id }: RecordKey,
  includeDeleted: boolean,
): Promise<Shown | undefined> {
  const [row] = await sql<Shown[]>`
    select ${shown(sql)} from consents
    where account_id = ${accountId} and id = ${id} ${includeDeleted ? nothing(sql) : live(sql)}`
  return row
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

/** Records newest first, at most `limit` of them, and never more than 101. */
export function listConsents(
  sql: Sql,
  accountId: string,
  filters: ListFilters,
  limit: number,
): Promise<(Shown & { id: string })[]> {
  const runs = listRuns(sql, accountId, filters)
  return sql<(Shown & { id: string })[]>`
    select id, ${shown(sql)} from (${runs}) as c order by id desc limit ${limit}`
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
