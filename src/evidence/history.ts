import type { AuditEntry, Problem } from '../contract/index.ts'
import { isUuid } from '../contract/uuid.ts'
import {
  type ChainEntry,
  entryId,
  expectedHash,
  expectedPayloadHash,
  type Facts,
  hashHistory,
  hashRecord,
  hashSealed,
  type Identity,
  type ShownSealed,
} from './chain.ts'
import { areCircumstances, personalOf } from './circumstances.ts'

export interface Finding {
  /** Null for the record itself. */
  readonly version: number | null
  readonly problem: Problem
  readonly detail: string
}

interface ChainRecord {
  readonly id: string
  readonly recordHash: Buffer | null
  readonly identity?: Identity
  /** A purge is complete. Until then a history loses its data from the oldest entry on. */
  readonly isPurged?: boolean
}

/** The whole history, oldest first. */
export function verifyHistory(record: ChainRecord, entries: readonly ChainEntry[]): Finding[] {
  const purge = entries.findLastIndex(({ action }) => action === 'purged')
  const anchor = entries[Math.max(purge, 0)]
  const findings = verifyVersions(entries)
  for (const [index, entry] of entries.entries())
    findings.push(...verifyEntry(record.id, entry, entries[index - 1], entries[index - 2]))
  let previous: Previous = { version: 0, hashes: [null] }
  for (const [index, entry] of entries.entries()) {
    const expected = expectPayload(record, entries, purge, index)
    if (expected.isRestored) findings.push(changed(entry, 'has personal data again that was purged'))
    const link = linkTo(record.id, previous, entry, expected)
    if (!link.isLinked || !link.isPayload) findings.push(changed(entry, describeChange(entry, link, expected)))
    // If a hash was changed, the next entry still follows the correct one.
    previous = { version: entry.version, hashes: [entry.hash, ...link.computed.slice(0, maxComputed)] }
  }
  if (record.identity && anchor) findings.push(...verifyIdentity(record, record.identity, anchor))
  if (record.identity && (entries[0]?.action === 'imported') !== ((record.identity.origin_system ?? null) !== null))
    findings.push({
      version: null,
      problem: 'changed',
      detail: 'it has an origin and was not imported, or has none and was',
    })
  return findings
}

interface ExpectedPayload {
  /** A purge removed the personal data that the payload hash covers. */
  readonly isStripped: boolean
  readonly isRestored: boolean
  /** Null if the state cannot be hashed. */
  readonly payloadHash: Buffer | null
}

/** `purge`: index of the last purge's entry, or -1. */
function expectPayload(
  { recordHash, isPurged }: ChainRecord,
  entries: readonly ChainEntry[],
  purge: number,
  index: number,
): ExpectedPayload {
  const entry = entries[index] as ChainEntry
  if (index < purge && entry.salt === null)
    return { isStripped: true, isRestored: !hasNothingPersonal(entry), payloadHash: entry.payloadHash }
  // A purge takes the record hash of the first entry or of the purge before, without which its payload has no hash.
  const isWithoutHash = index < purge && (index === 0 || entry.action === 'purged')
  if (isWithoutHash && isPurged === false)
    return { isStripped: true, isRestored: false, payloadHash: entry.payloadHash }
  const hashes = {
    recordHash: index === Math.max(purge, 0) ? (recordHash ?? undefined) : undefined,
    historyHash: index === purge ? hashHistory(entries.slice(0, purge)) : undefined,
  }
  const isRestored = index < purge && isPurged === true
  return { isStripped: false, isRestored, payloadHash: isWithoutHash ? null : expectedPayloadHash(entry, hashes) }
}

/** Maximum number of computed hashes besides the stored one. */
const maxComputed = 2

function verifyVersions(entries: readonly ChainEntry[]): Finding[] {
  const findings: Finding[] = []
  let expected = 1
  for (const { version } of entries) {
    if (version > expected) {
      const gap = version - expected > 1 ? `${expected} to ${version - 1} are` : `${expected} is`
      findings.push({ version: expected, problem: 'lost', detail: `version ${gap} missing` })
    } else if (version < expected) {
      findings.push({ version, problem: 'reordered', detail: 'stands behind a later version' })
    }
    expected = version + 1
  }
  return findings
}

function verifyAction(entry: ChainEntry, before: ChainEntry | undefined, earlier: ChainEntry | undefined): Finding[] {
  const { version, action } = entry
  const isFirst = version === 1
  const may = isFirst
    ? firstActions.includes(action)
    : before?.action === 'deleted'
      ? mayFollowDeletion(entry, before)
      : before?.action === 'purged'
        ? action === 'purged' && !entry.sealed && earlier?.action !== 'purged'
        : followers[before?.action ?? '']?.includes(action)
  const isAfterGap = before ? before.version !== version - 1 : !isFirst
  if (isAfterGap || may) return []
  const after = before?.facts?.erased ? 'an erasure' : (before?.action ?? 'nothing')
  return [{ version, problem: 'forged', detail: `${action} cannot follow ${after}` }]
}

/** An erasure request may cover a deleted record, which then has no plain restore. */
function mayFollowDeletion({ action, facts }: ChainEntry, before: ChainEntry): boolean {
  const isErased = before.facts?.erased === true
  if (action === 'deleted') return facts?.erased === true && !isErased
  return action === 'purged' || action === (isErased ? 'restored_despite_erasure' : 'restored')
}

/** A purge keeps acceptance and policy version, and no preferences. */
function isPurgeOf(entry: ChainEntry, before: ChainEntry | undefined): boolean {
  if (entry.action !== 'purged') return true
  const isSame = entry.accepted === before?.accepted && entry.policy_version === before.policy_version
  return isSame && hasNoPreferences(entry)
}

function changed({ version }: ChainEntry, detail: string): Finding {
  return { version, problem: 'changed', detail }
}

/** `before`, `earlier`: the two entries before it. */
function* verifyEntry(
  id: string,
  entry: ChainEntry,
  before: ChainEntry | undefined,
  earlier: ChainEntry | undefined,
): Generator<Finding> {
  yield* verifyAction(entry, before, earlier)
  for (const detail of verifyPlace(id, entry, before)) yield changed(entry, detail)
  if (entry.facts || entry.action === 'imported')
    for (const detail of verifyFacts(entry, before)) yield changed(entry, detail)
  if (entry.sealed) for (const detail of verifySealed(entry, entry.sealed)) yield changed(entry, detail)
}

/** Only the service has no actor id: null and zeros hash alike. */
function* verifyPlace(id: string, entry: ChainEntry, before: ChainEntry | undefined): Generator<string> {
  const { version, actor, at } = entry
  if (version === (before?.version ?? 0) + 1 && !isPurgeOf(entry, before)) yield 'has another state than a purge leaves'
  if ((actor.kind === 'system') !== (actor.id === null)) yield 'its actor is of another kind than its id'
  if (before && at.getTime() < before.at.getTime()) yield 'is older than the version before it'
  if (version === 1 && at.getTime() !== millisecondOf(id)) yield 'is of another time than the record’s id'
}

/** Facts must fit their action. Imported entries have one time and the order of their answers. */
function* verifyFacts(entry: ChainEntry, before: ChainEntry | undefined): Generator<string> {
  const { action, facts = {} } = entry
  if (action === 'imported') yield* verifyImported(entry, before)
  else if ('given_at' in facts || 'file_sha256' in facts)
    yield 'says when or from which file it is, and was not imported'
  if ('circumstances' in facts && !(areCircumstances(facts.circumstances) && answers.includes(action)))
    yield 'has circumstances of an answer that it cannot have'
  if ('gpc' in facts && (facts.gpc !== true || !answers.includes(action) || action === 'imported'))
    yield 'has a signal of the browser (GPC) that it cannot have'
  if ('erased' in facts && (facts.erased !== true || action !== 'deleted'))
    yield 'has a mark of an erasure that it cannot have'
}

const answers = ['created', 'imported', 'updated']

function* verifySealed({ action, salt }: ChainEntry, sealed: ShownSealed): Generator<string> {
  const { basis, until, proof_hash, subject_hmac, answers: given } = sealed
  if (action !== 'purged' || salt === null) yield 'has a sealed proof that it cannot have'
  if (typeof basis !== 'string' || !isInstant(until)) yield 'does not say why or until when its sealed proof is kept'
  if (subject_hmac === undefined && given === undefined) return
  const isComplete = subject_hmac !== undefined && given !== undefined
  if (!isComplete || (salt !== null && hashSealed({ subject_hmac, answers: given }, salt) !== proof_hash))
    yield 'has another sealed proof than its hash covers'
}

function* verifyImported({ at, facts = {} }: ChainEntry, before: ChainEntry | undefined): Generator<string> {
  const { given_at = '', file_sha256 = '' } = facts
  if (!isInstant(given_at)) yield 'is imported, and does not say when the person answered'
  else if (Date.parse(given_at) > at.getTime()) yield 'was answered after its import'
  if (!/^[\da-f]{64}$/.test(file_sha256)) yield 'is imported, and does not say from which file'
  if (before?.action !== 'imported') return
  if (given_at < (before.facts?.given_at ?? '')) yield 'was answered before the version before it'
  if (at.getTime() !== before.at.getTime()) yield 'is of another import than the version before it'
}

/** UTC with milliseconds. In the years 0 to 9999 such texts sort by time. */
function isInstant(text: string): boolean {
  const at = new Date(text)
  return !Number.isNaN(at.getTime()) && at.toISOString() === text && text.length === 24
}

const firstActions = ['created', 'imported']

const followers: Readonly<Record<string, readonly string[]>> = {
  created: ['updated', 'deleted'],
  imported: ['imported', 'updated', 'deleted'],
  updated: ['updated', 'deleted'],
  restored: ['updated', 'deleted'],
  restored_despite_erasure: ['updated', 'deleted'],
}

/** Creation time of a UUIDv7 (RFC 9562 section 5.7), since 1970. */
function millisecondOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

interface Previous {
  readonly version: number
  readonly hashes: readonly (Buffer | null)[]
}

interface Link {
  /**
   * The hash follows from the previous entry and the stored payload hash; also true after a gap, which prevents the
   * check.
   */
  readonly isLinked: boolean
  /** Null if the payload cannot be hashed. */
  readonly isPayload: boolean | null
  /** Hashes computed from the payload; empty if `isLinked`. */
  readonly computed: readonly Buffer[]
}

function linkTo(
  id: string,
  { version, hashes }: Previous,
  entry: ChainEntry,
  { payloadHash: payload }: ExpectedPayload,
): Link {
  const before = entry.version === version + 1 ? hashes : null
  const compute = (payloadHash: Buffer) =>
    (before ?? []).map(previous => expectedHash(id, entry, { previous, payloadHash }))
  const isLinked = before === null || compute(entry.payloadHash).some(hash => hash.equals(entry.hash))
  const isPayload = payload === null ? null : payload.equals(entry.payloadHash)
  return { isLinked, isPayload, computed: payload && !isLinked ? compute(payload) : [] }
}

function describeChange(entry: ChainEntry, { isLinked, isPayload }: Link, { isStripped }: ExpectedPayload): string {
  if (!isStripped && entry.salt === null) return 'its salt is missing, and it was never purged'
  if (isPayload === null) return 'its state cannot be hashed'
  if (!isLinked) return 'its content or its hash is not what was recorded'
  if (entry.action !== 'purged') return 'its preferences, circumstances or salt is not what was recorded'
  return 'what it left of the entries before it, of the record or of itself is not what was recorded'
}

function hasNothingPersonal(entry: ChainEntry): boolean {
  return hasNoPreferences(entry) && personalOf(entry.facts?.circumstances) === undefined && !entry.sealed
}

function hasNoPreferences({ preferences }: ChainEntry): boolean {
  return JSON.stringify(preferences) === '{}' // canonical JSON can throw
}

function verifyIdentity(record: ChainRecord, identity: Identity, { salt }: ChainEntry): Finding[] {
  if (salt && record.recordHash && hashRecord(identity, salt).equals(record.recordHash)) return []
  const detail = 'its site, labels, origin, place, user agent, address or notice are not what was recorded'
  return [{ version: null, problem: 'changed', detail }]
}

export interface Verified {
  /** `unverifiable`: the instance has no hash chain. */
  readonly result: 'ok' | 'not_valid' | 'unverifiable'
  readonly detail: string | null
}

/** Verifies an API response. `id` is in lower case. */
export function verifyAudit(id: string, entries: readonly AuditEntry[]): Verified {
  if (entries.length === 0) return { result: 'unverifiable', detail: 'the history is empty' }
  if (entries.every(({ hash, payload_hash, version }) => !hash && !payload_hash && !version)) {
    return { result: 'unverifiable', detail: 'the instance’s history has no hashes: it offers no chain' }
  }
  const anchor = entries.findLast(({ action }) => action === 'purged') ?? entries[0]
  const misplaced = entries.filter(entry => entry !== anchor && entry.record_hash)
  const recordHash = hexBytes(anchor?.record_hash)
  const found = [
    ...entries.flatMap(entry => verifyFields(id, entry).map(detail => ({ version: entry.version, detail }))),
    ...misplaced.map(({ version }) => ({
      version,
      detail: 'it has a record hash, which only the first entry has, or that of a purge',
    })),
    ...verifyHistory({ id, recordHash }, entries.map(toChainEntry)),
  ]
  if (found.length === 0) return { result: 'ok', detail: null }
  const sentences = found.map(({ version, detail }) => (version === null ? detail : `version ${version}: ${detail}`))
  return { result: 'not_valid', detail: sentences.join('; ') }
}

function verifyFields(id: string, entry: AuditEntry): string[] {
  const [hash, at] = [hexBytes(entry.hash), new Date(entry.created_at)]
  const found: string[] = []
  if (!hash || entry.id !== entryId(hash)) found.push('its id is not that of its hash')
  if (entry.consent_id !== id) found.push('it is of another record')
  if (entry.salt && !/^[\da-f]{32}$/.test(entry.salt)) found.push('its salt is not written as it should be')
  if (Number.isNaN(at.getTime()) || at.toISOString() !== entry.created_at)
    found.push('created_at is not an RFC 3339 timestamp in UTC')
  if (entry.actor_id && !isUuid(entry.actor_id)) found.push('its actor is not an id')
  return found
}

function toChainEntry(entry: AuditEntry): ChainEntry {
  return {
    version: entry.version ?? 0,
    action: entry.action ?? '',
    actor: { kind: entry.changed_by ?? '', id: entry.actor_id },
    at: new Date(entry.created_at),
    salt: hexBytes(entry.salt),
    accepted: entry.accepted as boolean,
    preferences: entry.preferences as Record<string, unknown>,
    policy_version: entry.policy_version as number,
    facts: toFacts(entry),
    sealed: entry.sealed,
    payloadHash: hexBytes(entry.payload_hash) ?? Buffer.alloc(0),
    hash: hexBytes(entry.hash) ?? Buffer.alloc(0),
  }
}

function toFacts({ circumstances, file_sha256, given_at, gpc, erased }: AuditEntry): Facts | undefined {
  const facts = {
    ...(circumstances !== undefined && { circumstances }),
    ...(file_sha256 !== undefined && { file_sha256 }),
    ...(given_at !== undefined && { given_at }),
    ...(gpc !== undefined && { gpc }),
    ...(erased !== undefined && { erased }),
  }
  return Object.keys(facts).length > 0 ? facts : undefined
}

function hexBytes(text: string | null | undefined): Buffer | null {
  return text && /^([\da-f]{2})+$/.test(text) ? Buffer.from(text, 'hex') : null
}
