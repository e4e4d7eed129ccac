import type { AuditEntry, Consent } from '../../../contract/index.ts'
import type { ConsentRow } from '../../../views/consent.ts'
import { oldestFirst, purgedAt, stateAt, timeOf } from './state.ts'

/** The instant that is asked about. */
export interface At {
  /** As RFC 3339, and in milliseconds since 1970. */
  readonly text: string
  readonly instant: number
  /** Whether a record is shown that was deleted by then. */
  readonly includeDeleted: boolean
}

/** A record as it was, and what must be said of it; or why there is none. */
export type Moment =
  | { readonly row: ConsentRow; readonly notes: readonly string[] }
  | { readonly absent: 'not yet' | 'deleted' | 'untold'; readonly why: string }

type State = Pick<Required<ConsentRow>, 'accepted' | 'preferences' | 'policy_version' | 'updated_at'>

/**
 * A record as it was at an instant. `record` is what is known of it now, for the fields that never change; null where the
 * instance shows it no more.
 */
export function momentOf(id: string, record: Consent | null, entries: readonly AuditEntry[], at: At): Moment {
  const absent = absence(record, entries, at)
  if (absent) return absent
  const known = stateAt(entries, at.instant)
  const state = known ? stateOf(known.entry) : entries.length === 0 ? unchanged(record, at) : null
  if (!state) return { absent: 'untold', why: begins(entries) }
  const purged = purgedAt(entries)
  const notes = []
  if (!record) notes.push(`${id}${known?.mayBeDeleted ? unknownEnd : onlyHistory}`)
  if (purged) notes.push(`${id} was purged at ${purged}: its preferences, and whose it was, are gone`)
  const preferences = purged ? null : state.preferences // {} would say that there were none
  const deleted_at = deletion(record, entries, at)
  return { row: { ...(record ?? unseen(id, entries)), ...state, preferences, deleted_at }, notes }
}

const onlyHistory = ' is deleted now, and this instance shows no deleted record: only its history tells of it'
const unknownEnd = `${onlyHistory}, and not when it was deleted, which may have been by then`

/** Why nothing is shown, where that can be told: it was not there yet, or no more. */
export function absence(record: Consent | null, entries: readonly AuditEntry[], at: At): Moment | null {
  const [first] = oldestFirst(entries)
  const created = first?.action === 'created' ? first.created_at : record?.created_at
  if (created !== undefined && timeOf(created) > at.instant)
    return { absent: 'not yet', why: `it was created at ${created}` }
  const deleted = at.includeDeleted ? null : deletion(record, entries, at)
  return deleted === null ? null : { absent: 'deleted', why: `deleted at ${deleted}` }
}

/** When it was deleted, if it was by then. */
function deletion(record: Consent | null, entries: readonly AuditEntry[], at: At): string | null {
  const now = record?.deleted_at ?? null
  const isBefore = now !== null && timeOf(now) <= at.instant
  return stateAt(entries, at.instant)?.deletedAt ?? (isBefore ? now : null)
}

function stateOf({ accepted, preferences, policy_version, created_at }: AuditEntry): State {
  return { accepted, preferences, policy_version, updated_at: created_at }
}

/** The state of a record that has no history: the one it has, if it has had that since. */
function unchanged(record: Consent | null, at: At): State | null {
  if (!record) return null
  const { accepted, preferences, policy_version, created_at, updated_at, deleted_at } = record
  const isSince = updated_at === null || timeOf(updated_at) <= at.instant
  if (!isSince && updated_at !== deleted_at) return null
  return { accepted, preferences, policy_version, updated_at: isSince ? updated_at : created_at }
}

function begins(entries: readonly AuditEntry[]): string {
  const [first] = oldestFirst(entries)
  return first ? `its history begins at ${first.created_at}` : 'it has no history'
}

/** A record that only its history tells of. */
function unseen(id: string, entries: readonly AuditEntry[]): ConsentRow {
  const [first] = oldestFirst(entries)
  return {
    id,
    site_id: null,
    consent_id: null,
    subject_id: null,
    country: null,
    region: null,
    user_agent: null,
    accepted: null,
    preferences: null,
    policy_version: null,
    created_at: first?.action === 'created' ? first.created_at : null,
    updated_at: null,
    deleted_at: null,
  }
}
