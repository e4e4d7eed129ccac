import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { AuditEntry, ConsentChange } from '../../src/contract/index.ts'
import { sameJson } from '../../src/evidence/canonical.ts'
import {
  type Action,
  type Actor,
  type Event,
  entryId,
  linkOf,
  newSalt,
  type State,
} from '../../src/evidence/chain.ts'
import type { Caller } from '../auth/caller.ts'
import { Failure, unavailable } from '../failure.ts'
import type { Deps } from './deps.ts'
import * as queries from './queries.ts'
import { removeRecords, type SiteRecords } from './queries.ts'
import type { BatchLink, ChainRow, EntryRow, StateRow } from './rows.ts'

/** An audit entry as the API shows it (service specification section 2.2), with its link in the chain. */
function toAuditEntry(row: EntryRow): AuditEntry {
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
    salt: row.salt?.toString('hex') ?? null,
    record_hash: row.record_hash?.toString('hex') ?? null,
    payload_hash: row.payload_hash.toString('hex'),
    hash: row.hash.toString('hex'),
  }
}

/** How often a change is tried anew when another one of the same record was faster. */
const attempts = 100

/** How long after a change was asked for it may still be made, in milliseconds. */
const patience = 5000

/** The JSON of a record. Throws `not_found` for one that is deleted, somebody else's, or unknown. */
export async function getConsent(
  { sql, reads }: Deps,
  { accountId }: Caller,
  id: string,
  includeDeleted: boolean,
): Promise<string> {
  const row = await reads.ask(`${accountId} ${includeDeleted}`, id, async ids => {
    const rows = await queries.showConsents(sql, accountId, ids, includeDeleted)
    const found = new Map(rows.map(one => [one.id, one]))
    return ids.map(one => found.get(one))
  })
  if (!row) throw noConsent()
  return row.shown
}

/** Changes what was accepted, and returns the JSON of the record; without a difference nothing is written, so that a retry is no second event. */
export function updateConsent(
  deps: Deps,
  caller: Caller,
  id: string,
  change: ConsentChange,
): Promise<string> {
  return applyEvent(deps, caller, id, 'updated', row => {
    const accepted = change.accepted ?? row.accepted
    const preferences = change.preferences ?? row.preferences
    if (accepted === row.accepted && sameJson(preferences, row.preferences)) return null
    return { accepted, preferences, policy_version: row.policy_version }
  })
}

/** Deletes a record logically: it is gone from every read but its history, and returned this last time. */
export function deleteConsent(deps: Deps, caller: Caller, id: string): Promise<string> {
  return applyEvent(deps, caller, id, 'deleted', row => row)
}

/** The audit trail of a record, deleted or not, oldest first. Throws `not_found`. */
export async function getHistory({ sql }: Deps, caller: Caller, id: string): Promise<{ data: AuditEntry[] }> {
  const rows = await queries.listEntries(sql, { accountId: caller.accountId, id })
  if (rows.length === 0) throw noConsent()
  return { data: rows.map(toAuditEntry) }
}

/**
 * Reads a live record, works out its next state and writes both state and audit entry, if the record is still as it
 * was read; otherwise again from the start. `next` returns null where there is nothing to change.
 */
async function applyEvent(
  { sql }: Deps,
  caller: Caller,
  id: string,
  action: Action,
  next: (row: StateRow) => State | null,
): Promise<string> {
  const key = { accountId: caller.accountId, id }
  const until = performance.now() + patience
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const row = await queries.findConsent(sql, key)
    if (!row) throw noConsent()
    if (performance.now() > until) break // its client was told so long ago
    const state = next(row)
    if (!state) return row.shown
    const at = new Date(Math.max(Date.now(), row.updated_at.getTime())) // a clock set back must not reorder history
    const event = { id, version: row.version + 1, action, actor: caller, at, previous: row.chain_head, state }
    const entry = { action, actor: caller, at, link: linkOf(event) }
    const deletedAt = action === 'deleted' ? at : null
    const written = await queries.updateConsent(
      sql,
      { ...key, version: row.version },
      { ...state, deleted_at: deletedAt },
      entry,
    )
    if (written) return written.shown
    await delay(Math.random() * 10)
  }
  throw unavailable('The record is being changed by too many requests at once.')
}

export function noConsent(): Failure {
  return new Failure('not_found', 'There is no such consent.')
}

/** What happens to each record of a batch. */
type Happening = Pick<Event, 'action' | 'state'> & Pick<Event, 'recordHash' | 'historyHash'>

/** The next link of a record's chain. */
export function nextLink(row: ChainRow, actor: Actor, happening: Happening, salt = newSalt()): BatchLink {
  const { id, version, chain_head: previous } = row
  const at = new Date(Math.max(Date.now(), row.updated_at.getTime())) // a clock set back must not reorder history
  const link = linkOf({ ...happening, id, version: version + 1, actor, at, previous }, salt)
  return { ...link, id, version, at }
}

/** The links of a batch that deletes records as they were read. */
export function removalLinks(rows: readonly StateRow[], actor: Actor): BatchLink[] {
  return rows.map(row => nextLink(row, actor, { action: 'deleted', state: row }))
}

/** Deletes records that are still as they were read, in one statement; resolves to how many that was of each site. */
export function removeBatch(
  sql: Sql,
  accountId: string,
  rows: readonly StateRow[],
  actor: Actor,
): Promise<SiteRecords[]> {
  return removeRecords(sql, accountId, removalLinks(rows, actor), actor)
}
