import type { Sql } from 'postgres'
import type { State } from '../../src/evidence/chain.ts'
import { arrayOf } from '../db/array.ts'
import { insertEntries, json, live, nothing, oneLink, shown } from './fragments.ts'
import { listRuns } from './list-fragments.ts'
import type { Entry, EntryRow, ListFilters, Shown, ShownPage, StateRow } from './rows.ts'

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
