import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { AuditEntry, ConsentChange, History, Restoration } from '../../src/contract/index.ts'
import { sameJson } from '../../src/evidence/canonical.ts'
import { type Actor, type Event, entryId, linkOf, newSalt, readFacts, showSealed } from '../../src/evidence/chain.ts'
import type { Caller } from '../auth/caller.ts'
import { databaseTimeoutMs } from '../db/errors.ts'
import { type Reach, reachKey } from '../db/reach.ts'
import { Failure, unavailable } from '../failure.ts'
import { findExpiry, findValidity } from '../notices/published.ts'
import type { ConsentDeps } from './deps.ts'
import * as queries from './queries.ts'
import type { BatchLink, ChainRow, ConsentJson, DeletedRow, EntryRow, FoundConsent, StateRow } from './rows.ts'

const maxAttempts = 100

const maxBackoffMs = 10

/** @throws Failure `not_found` for a deleted, foreign or unknown record */
export async function getConsent(
  { sql, reads }: Pick<ConsentDeps, 'sql' | 'reads'>,
  reach: Reach,
  id: string,
  includeDeleted: boolean,
): Promise<FoundConsent> {
  const row = await reads.run(`${reachKey(reach)} ${includeDeleted}`, id, async ids => {
    const rows = await queries.findConsentsJson(sql, reach, ids, includeDeleted)
    const found = new Map(rows.map(one => [one.id, one]))
    return ids.map(one => found.get(one))
  })
  if (!row) throw noConsent()
  return row
}

/**
 * Writes no audit entry if nothing changes. The same answer with other circumstances is a change, such as a confirmation
 * of it; with those of its last entry it is a repeated request.
 */
export function updateConsent(deps: ConsentDeps, caller: Caller, id: string, change: ConsentChange): Promise<string> {
  return applyEvent(deps.sql, caller, findLive(deps, caller, id), async row => {
    const accepted = change.accepted ?? row.accepted
    const preferences = change.preferences ?? row.preferences
    const { circumstances } = change
    const isSame = accepted === row.accepted && sameJson(preferences, row.preferences)
    const findTold = () => queries.findCircumstances(deps.sql, caller, id, row.version)
    if (isSame && (!circumstances || sameJson(circumstances, await findTold()))) return null
    const validFor = await findValidity(deps, caller.accountId, row)
    const facts = circumstances && { circumstances }
    return { action: 'updated', state: { accepted, preferences, policy_version: row.policy_version }, facts, validFor }
  })
}

export function deleteConsent(deps: ConsentDeps, caller: Caller, id: string): Promise<string> {
  return applyEvent(deps.sql, caller, findLive(deps, caller, id), async row => ({ action: 'deleted', state: row }))
}

/**
 * Includes deleted records. A sealed proof is shown only for its own `presented` HMAC of a subject, in hexadecimal.
 * @throws Failure `not_found`
 */
export async function getHistory(
  { sql }: Pick<ConsentDeps, 'sql'>,
  reach: Reach,
  id: string,
  withDetails: boolean,
  presented: string | null = null,
): Promise<{ readonly history: History; readonly subjectId: string | null }> {
  const { accountId } = reach
  const rows = await queries.findHistory(sql, reach, id)
  const [first] = rows
  if (!first) throw noConsent()
  const subjectId = first.subject_id
  const data = rows.map(row => toAuditEntry(row, presented))
  if (!withDetails) return { history: { data }, subjectId }
  const [actors, unshown] = await Promise.all([
    queries.findActorNames(sql, accountId, id),
    queries.findUnshown(sql, accountId, id),
  ])
  const names = new Map(actors.map(({ actor_id, name }) => [actor_id, name]))
  const named = data.map(entry => ({ ...entry, actor_name: names.get(entry.actor_id ?? '') ?? null }))
  return { history: { data: named, ...unshown }, subjectId }
}

/** Service specification, section 2.2, plus the link in the hash chain. */
function toAuditEntry(row: EntryRow, presented: string | null): AuditEntry {
  const { salt, sealed } = row
  return {
    id: entryId(row.hash),
    consent_id: row.consent_id,
    action: row.action,
    accepted: row.accepted,
    preferences: row.preferences,
    policy_version: row.policy_version,
    changed_by: row.changed_by,
    actor_id: row.actor_id,
    created_at: row.created_at.toISOString(),
    version: row.version,
    salt: salt?.toString('hex') ?? null,
    record_hash: row.record_hash?.toString('hex') ?? null,
    payload_hash: row.payload_hash.toString('hex'),
    hash: row.hash.toString('hex'),
    ...readFacts(row),
    ...(sealed && salt && { sealed: showSealed(sealed, salt, presented === sealed.subject_hmac) }),
  }
}

/**
 * Returns a live record unchanged.
 * @throws Failure `conflict` if it is purged, or covered by an erasure request without `despite_erasure`
 */
export function restoreConsent(
  { sql }: ConsentDeps,
  caller: Caller,
  id: string,
  { despite_erasure = false }: Restoration,
): Promise<string> {
  const find = () => queries.findDeletedState(sql, caller, id)
  return applyEvent(sql, caller, find, async row => {
    const { deleted_at, is_erased, is_purged, accepted, preferences, policy_version } = row
    if (deleted_at === null) return null
    if (is_purged) throw new Failure('conflict', purged, { reason: 'purged' })
    if (is_erased && !despite_erasure) throw new Failure('conflict', covered, { reason: 'erasure_requested' })
    const action = is_erased ? 'restored_despite_erasure' : 'restored'
    return { action, state: { accepted, preferences, policy_version } }
  })
}

const purged = 'The record was purged: its personal data is gone, and it cannot be restored.'
const covered =
  'An erasure request covers this record. It can be restored only with despite_erasure, which its history will show.'

function findLive({ sql }: ConsentDeps, reach: Reach, id: string) {
  return () => queries.findConsent(sql, reach, id)
}

interface Change extends Pick<Event, 'action' | 'state' | 'facts'> {
  /** ISO 8601 duration, null if it does not expire; undefined keeps the expiry. */
  readonly validFor?: string | null
}

/** Retries if the version has changed. `next` returns null for no change. */
async function applyEvent<Row extends StateRow & ConsentJson>(
  sql: Sql,
  caller: Caller,
  find: () => Promise<Row | undefined>,
  next: (row: Row) => Promise<Change | null>,
): Promise<string> {
  const { accountId } = caller
  const deadline = performance.now() + databaseTimeoutMs
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const row = await find()
    if (!row) throw noConsent()
    if (performance.now() > deadline) break
    const change = await next(row)
    if (!change) return row.json
    const { action, state, facts, validFor } = change
    const link = nextLink(row, caller, change)
    const expiresAt = validFor === undefined ? undefined : findExpiry(link.at, state.accepted, validFor)
    const deleted_at = action === 'deleted' ? link.at : null
    const written = await queries.updateConsent(
      sql,
      accountId,
      { ...state, deleted_at, expiresAt },
      { action, actor: caller, link, circumstances: facts?.circumstances },
    )
    if (written) return written.json
    await delay(Math.random() * maxBackoffMs)
  }
  throw unavailable('Too many concurrent requests are changing this record.')
}

export function noConsent(): Failure {
  return new Failure('not_found', 'There is no such consent.')
}

export function nextLink(
  row: ChainRow,
  actor: Actor,
  change: Pick<Event, 'action' | 'state' | 'facts' | 'recordHash' | 'historyHash' | 'sealed'>,
  salt = newSalt(),
): BatchLink {
  const { id, version, chain_head: previous } = row
  const at = new Date(Math.max(Date.now(), row.updated_at.getTime())) // a clock set back must not reorder history
  const link = linkOf({ ...change, id, version: version + 1, actor, at, previous }, salt)
  return { ...link, id, version, at }
}

export function deletionLinks(rows: readonly StateRow[], actor: Actor, { erased }: { erased: boolean }): BatchLink[] {
  const facts = erased ? { erased } : undefined
  return rows.map(row => nextLink(row, actor, { action: 'deleted', state: row, facts }))
}

/** Returns the deleted records, which had not changed since they were read. */
export function deleteBatch(
  sql: Sql,
  accountId: string,
  rows: readonly StateRow[],
  actor: Actor,
): Promise<DeletedRow[]> {
  return queries.deleteRecords(sql, accountId, deletionLinks(rows, actor, { erased: false }), { actor, erased: false })
}
