import type { AuditEntry, Consent } from '../contract/index.ts'
import { parseInstant } from '../contract/instant.ts'
import { CliError, exit } from '../errors/errors.ts'
import type { ConsentRow } from '../views/consent.ts'

interface StateAt {
  readonly entry: AuditEntry
  /** Time of the last answer, as reported by the importer. */
  readonly facts: Facts
  readonly deletedAt: string | null
  /** The instance does not name actions, so the last entry may be the deletion. */
  readonly mayBeDeleted: boolean
}

/**
 * Null before the first entry. `instant`: milliseconds since 1970. Imported entries count from the reported time of
 * their answer. @throws CliError for an invalid time
 */
export function stateAt(entries: readonly AuditEntry[], instant: number): StateAt | null {
  const ordered = oldestFirst(entries)
  const until = ordered.filter(({ given_at, created_at }) => timeOf(given_at ?? created_at) <= instant)
  const entry = until.at(-1)
  if (!entry) return null
  return {
    entry,
    facts: factsIn(until),
    deletedAt: deletionIn(until),
    mayBeDeleted: entry.action === null && until.length === ordered.length,
  }
}

type Facts = Pick<Consent, 'given_at' | 'gpc'>

const answers = ['created', 'imported', 'updated']

function factsIn(entries: readonly AuditEntry[]): Facts {
  const given_at = entries.findLast(entry => entry.given_at !== undefined)?.given_at
  const isSignalled = entries.findLast(({ action }) => answers.includes(action ?? ''))?.gpc
  return { ...(given_at !== undefined && { given_at }), ...(isSignalled && { gpc: true }) }
}

function purgedAt(entries: readonly AuditEntry[]): string | null {
  return entries.find(({ action }) => action === 'purged')?.created_at ?? null
}

/** The specification defines no order. Equal times keep the response's order. */
export function oldestFirst(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  const [first, last] = [entries[0], entries.at(-1)]
  if (!first || !last || first === last) return entries
  const span = timeOf(last.created_at) - timeOf(first.created_at)
  const isNewestFirst = span < 0 || (span === 0 && last.action === 'created')
  const given = isNewestFirst ? [...entries].reverse() : [...entries]
  return given.sort((a, b) => timeOf(a.created_at) - timeOf(b.created_at))
}

/** @throws CliError `unreadable_time` (exit 1) */
export function timeOf(instant: string): number {
  const time = parseInstant(instant)
  if (time !== null) return time
  const message = `the instance has the time "${instant}", which cannot be parsed`
  throw new CliError('unreadable_time', exit.failure, message, {
    hint: 'consentctl history shows the entries as they are',
  })
}

/** Time of the last deletion, unless restored. A purge without one counts as a deletion. */
function deletionIn(entries: readonly AuditEntry[]): string | null {
  const ends = entries.slice(entries.findLastIndex(({ action }) => action?.startsWith('restored')) + 1)
  return ends.find(({ action }) => action === 'deleted' || action === 'purged')?.created_at ?? null
}

export interface At {
  /** Milliseconds since 1970. */
  readonly instant: number
  readonly includeDeleted: boolean
}

export type Moment =
  | { readonly row: ConsentRow; readonly word: NonNullable<ConsentRow['word']>; readonly notes: readonly string[] }
  | { readonly absent: 'not yet' | 'deleted' | 'unknown'; readonly why: string }

type State = Pick<Required<ConsentRow>, 'accepted' | 'preferences' | 'policy_version' | 'updated_at'>

/** `record`: the present one, for fields that never change; null if no longer shown. */
export function momentOf(id: string, record: Consent | null, entries: readonly AuditEntry[], at: At): Moment {
  const absent = absence(record, entries, at)
  if (absent) return absent
  const past = stateAt(entries, at.instant)
  const state = past ? stateOf(past.entry) : entries.length === 0 ? unchanged(record, at) : null
  if (!state) return { absent: 'unknown', why: describeStart(entries) }
  const purged = purgedAt(entries)
  const notes: string[] = []
  if (!record) notes.push(`${id}${past?.mayBeDeleted ? unknownEnd : onlyHistory}`)
  if (purged) notes.push(`${id} was purged at ${purged}: its preferences and its subject are gone`)
  const preferences = purged ? null : state.preferences // {} would mean none
  const deleted_at = deletion(record, entries, at)
  const word = isImportersWord(past?.entry, at) ? 'importer' : 'service'
  if (word === 'importer' && past) notes.push(describeImporter(id, record, past.entry))
  const { given_at: _, gpc: __, ...unchanging } = record ?? fromHistory(id, entries)
  const row = { ...unchanging, ...state, preferences, deleted_at, ...past?.facts }
  return { row: word === 'importer' ? { ...row, ...beforeImport } : row, word, notes }
}

/** Before the import, the record did not exist. */
const beforeImport = { created_at: null, updated_at: null } as const

/** True if it was imported later: only the importer reports that state. */
function isImportersWord(entry: AuditEntry | undefined, at: At): boolean {
  return entry !== undefined && timeOf(entry.created_at) > at.instant
}

function describeImporter(id: string, record: Consent | null, { created_at }: AuditEntry): string {
  const system = record?.origin ? ` from ${record.origin.system}` : ''
  return `${id} was imported${system} at ${created_at}: its earlier state is as reported by the importer`
}

const onlyHistory = ' is deleted now, and this instance shows no deleted records: only its history is known'
const unknownEnd = `${onlyHistory}, and not when it was deleted: it may have been deleted by then`

/** The reason, if it did not exist yet or was deleted. */
export function absence(record: Consent | null, entries: readonly AuditEntry[], at: At): Moment | null {
  const [first] = oldestFirst(entries)
  const created = first?.given_at ?? (first?.action === 'created' ? first.created_at : record?.created_at)
  if (created !== undefined && timeOf(created) > at.instant)
    return {
      absent: 'not yet',
      why: first?.given_at ? `its first answer is of ${created}` : `it was created at ${created}`,
    }
  const deleted = at.includeDeleted ? null : deletion(record, entries, at)
  return deleted === null ? null : { absent: 'deleted', why: `deleted at ${deleted}` }
}

function deletion(record: Consent | null, entries: readonly AuditEntry[], at: At): string | null {
  const now = record?.deleted_at ?? null
  const isBefore = now !== null && timeOf(now) <= at.instant
  return stateAt(entries, at.instant)?.deletedAt ?? (isBefore ? now : null)
}

function stateOf({ accepted, preferences, policy_version, created_at }: AuditEntry): State {
  return { accepted, preferences, policy_version, updated_at: created_at }
}

function unchanged(record: Consent | null, at: At): State | null {
  if (!record) return null
  const { accepted, preferences, policy_version, created_at, updated_at, deleted_at } = record
  const isSince = updated_at === null || timeOf(updated_at) <= at.instant
  if (!isSince && updated_at !== deleted_at) return null
  return { accepted, preferences, policy_version, updated_at: isSince ? updated_at : created_at }
}

function describeStart(entries: readonly AuditEntry[]): string {
  const [first] = oldestFirst(entries)
  return first ? `its history begins at ${first.created_at}` : 'it has no history'
}

function fromHistory(id: string, entries: readonly AuditEntry[]): ConsentRow {
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
    created_at: first?.action === 'created' || first?.action === 'imported' ? first.created_at : null,
    updated_at: null,
    deleted_at: null,
  }
}
