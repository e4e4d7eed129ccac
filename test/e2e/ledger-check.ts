import type { Sql } from 'postgres'
import { request } from 'undici'
import type { EntryRow, StateRow } from '../../server/consents/rows.ts'
import type { AuditEntry, Consent } from '../../src/contract/index.ts'
import {
  type Actor,
  hashEntry,
  hashHistory,
  hashPayload,
  hashRecord,
  type Identity,
  readFacts,
  showSealed,
} from '../../src/evidence/chain.ts'
import type { Ledger, RecordHistory, Target } from './ledger.ts'

/** Every record of an account, the removed ones too, as the service lists them. */
export async function listAll(target: Target): Promise<Consent[]> {
  const all: Consent[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const query = `?include_deleted=true&limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
    const page: { data: Consent[]; next_cursor: string | null } = await read(target, query)
    all.push(...page.data)
    cursor = page.next_cursor
  }
  return all
}

/** A record's history as the service tells it; empty where it knows of none. */
export async function historyOf(target: Target, { id }: Consent): Promise<AuditEntry[]> {
  const found = await read<{ data: AuditEntry[] }>(target, `/${id}/history`, 404)
  return found.data ?? []
}

/** The body of an answer that is 200, or of the other one that may be. */
async function read<T>({ url, key }: Target, path: string, other = 200): Promise<T> {
  const { statusCode, body } = await request(`${url}/api/v1/consents${path}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  if (statusCode !== 200 && statusCode !== other)
    throw new Error(`GET ${path} was answered with ${statusCode}: ${await body.text()}`)
  return (await body.json()) as T
}

export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

export async function inParallel<T>(workers: number, items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: workers }, worker))
}

/** A record as the database holds it. */
export interface Stored extends StateRow, Identity {
  account_id: string
  record_hash: Buffer
  created_at: Date
  deleted_at: Date | null
  purged_at: Date | null
}
type StoredEntry = EntryRow & { version: number; salt: Buffer | null; payload_hash: Buffer }
type Logged = { consent_id: string; version: number; hash: Buffer }
type State = Pick<AuditEntry, 'accepted' | 'preferences' | 'policy_version'>

/**
 * What a ledger, the service and its database say against each other, one sentence each; nothing where all is well:
 *
 * - every acknowledged write is stored, what is stored was begun, each write at most once, and none that was refused;
 * - acknowledged writes of one record are stored in the order in which they were made;
 * - versions are 1 to n, the last entry is the record's state, and every hash is that of its entry and the one before;
 * - of what is purged only the skeleton is left, which its last entry vouches for;
 * - every entry is in the log, and nothing else is;
 * - what the API answers is what the database holds.
 */
export async function findContradictions(target: Target, sql: Sql, ledger: Ledger): Promise<string[]> {
  const listed = await listAll(target)
  const rows = await sql<Stored[]>`select * from consents where account_id = ${target.accountId}`
  const entries = groupBy(
    await sql<StoredEntry[]>`
      select * from consent_history where account_id = ${target.accountId} order by version`,
    entry => entry.consent_id,
  )
  const log = groupBy(
    await sql<Logged[]>`
      select consent_id, version, hash from log_entries where account_id = ${target.accountId} order by version`,
    entry => entry.consent_id,
  )
  const byId = new Map(rows.map(row => [row.id, row]))
  const labels = new Map([...ledger.histories.values()].map(({ id, label }) => [id, label]))
  const labelOf = ({ id, consent_id }: Consent) => consent_id ?? labels.get(id) ?? ''
  const found = [...ledger.findContradictions]
  if (byId.size !== listed.length) found.push(`${listed.length} records are listed, ${byId.size} are stored`)
  const stored = groupBy(listed, labelOf)
  for (const track of ledger.histories.values()) {
    if (isMissing(track, stored.get(track.label))) found.push(`${track.label} was acknowledged and is lost`)
  }
  await inParallel(16, listed, async consent => {
    const label = labelOf(consent)
    const row = byId.get(consent.id)
    const own = entries.get(consent.id) ?? []
    const history = await historyOf(target, consent)
    const problems = [
      ...stepProblems(ledger.histories.get(label), consent, history),
      ...(row ? [...chainProblems(row, own), ...responseProblems(row, own, consent, history)] : ['is not stored']),
      ...(isLogged(own, log.get(consent.id)) ? [] : ['is logged otherwise than it is stored']),
      ...((stored.get(label)?.length ?? 0) > 1 ? ['is stored more than once'] : []),
    ]
    found.push(...problems.map(problem => `${label} (${consent.id}) ${problem}`))
  })
  return found.slice(0, 20)
}

function isMissing({ id, steps }: RecordHistory, found: Consent[] = []): boolean {
  return steps.some(({ outcome }) => outcome === 'ok') && !found.some(consent => consent.id === id)
}

/** A record's history against what its client did. */
function stepProblems(track: RecordHistory | undefined, { id }: Consent, history: AuditEntry[]): string[] {
  if (!track) return ['was never begun']
  const problems = track.id !== null && track.id !== id ? ['has another id than was acknowledged'] : []
  if (history.at(-1)?.action === 'purged') return [...problems, ...purgedStepProblems(track, history)]
  const seen = history.map(({ action, preferences }) =>
    track.steps.findIndex(step =>
      action === 'deleted' ? step.action === action : step.action === action && step.name === preferences?.['step'],
    ),
  )
  if (seen.includes(-1)) problems.push('has an entry that nobody wrote')
  if (new Set(seen).size !== seen.length) problems.push('has a write twice')
  for (const [index, { name, outcome }] of track.steps.entries()) {
    const place = seen.indexOf(index)
    if (outcome === 'refused' && place >= 0) problems.push(`has the refused write ${name}`)
    if (outcome === 'ok' && place < 0) problems.push(`lacks the acknowledged write ${name}`)
    const isOvertaken = outcome === 'ok' && seen.slice(0, Math.max(0, place)).some(other => other > index)
    if (isOvertaken) problems.push(`has the acknowledged write ${name} after a later one`)
  }
  return problems
}

/** The same where the names of the writes are gone: as many as were acknowledged, and no more than were begun. */
function purgedStepProblems({ steps }: RecordHistory, history: AuditEntry[]): string[] {
  const actions = history.slice(0, -1).map(({ action }) => action)
  const isRight = (['created', 'updated', 'deleted'] as const).every(action => {
    const own = steps.filter(step => step.action === action)
    const count = actions.filter(each => each === action).length
    const least = own.filter(({ outcome }) => outcome === 'ok').length
    return count >= least && count <= own.filter(({ outcome }) => outcome !== 'refused').length
  })
  const isInOrder = actions[0] === 'created' && actions.at(-1) === 'deleted'
  return isRight && isInOrder ? [] : [`was purged with the history ${actions}`]
}

/** A row against its own history. */
export function chainProblems(row: Stored, entries: StoredEntry[]): string[] {
  const problems: string[] = []
  let previous: Buffer | null = null
  const purge = entries.at(-1)?.action === 'purged' ? entries.length : 0
  for (const [index, entry] of entries.entries()) {
    const version = index + 1
    const { salt, action, created_at: at, consent_id: id } = entry
    const actor = { kind: entry.changed_by, id: entry.actor_id } as Actor
    const facts = readFacts(entry)
    const event = { id, version, action, actor, at, previous, state: entry, facts }
    const hash = hashEntry(event, entry.payload_hash)
    if (entry.version !== version) problems.push(`has version ${entry.version} in place of ${version}`)
    if (version < purge) {
      if (salt || Object.keys(entry.preferences).length) problems.push(`is purged, but not at ${version}`)
    } else if (!payloadHash(row, entry, entries)?.equals(entry.payload_hash))
      problems.push(`has a wrong payload hash at ${version}`)
    if (!hash.equals(entry.hash)) problems.push(`has a wrong hash at ${version}`)
    previous = entry.hash
  }
  const last = entries.at(-1)
  if (!last || row.version !== last.version || !row.chain_head.equals(last.hash)) {
    problems.push('has another head than its last entry')
  } else if (
    stateOf(row) !== stateOf(last) ||
    row.updated_at.getTime() !== last.created_at.getTime() ||
    (row.deleted_at !== null) !== ['deleted', 'purged'].includes(last.action) ||
    (row.purged_at !== null) !== (last.action === 'purged')
  ) {
    problems.push('has another state than its last entry')
  }
  return problems
}

/** What an entry's payload hashes to, by the row and the entries that its hash covers. */
function payloadHash(row: Stored, entry: StoredEntry, entries: StoredEntry[]): Buffer | null {
  if (!entry.salt) return null
  const facts = readFacts(entry)
  if (entry.action !== 'purged' && entry !== entries[0]) return hashPayload(entry.preferences, entry.salt, { facts })
  const recordHash = hashRecord(identityOf(row), entry.salt)
  if (!recordHash.equals(row.record_hash)) return null
  const history = entry.action === 'purged' && { historyHash: hashHistory(entries.slice(0, -1)) }
  const sealed = entry.sealed ? showSealed(entry.sealed, entry.salt, false) : undefined
  return hashPayload(entry.preferences, entry.salt, { recordHash, ...history, facts, sealed })
}

function isLogged(entries: StoredEntry[], log: Logged[] = []): boolean {
  return (
    log.length === entries.length &&
    log.every(({ version, hash }, index) => version === index + 1 && entries[index]?.hash.equals(hash))
  )
}

/** What the API answers against what is stored. */
function responseProblems(row: Stored, entries: StoredEntry[], consent: Consent, history: AuditEntry[]): string[] {
  const isSame =
    stateOf(row) === stateOf(consent) &&
    row.updated_at.toISOString() === consent.updated_at &&
    (row.deleted_at?.toISOString() ?? null) === consent.deleted_at &&
    entries.length === history.length &&
    entries.every((entry, index) => stateOf(entry) === stateOf(history[index] as AuditEntry))
  return isSame ? [] : ['is answered otherwise than it is stored']
}

function identityOf(record: Stored): Identity {
  const { site_id, consent_id, subject_id, country, region, user_agent, ip_network, ...notice } = record
  const { notice_locale = null, notice_entry = null } = notice
  const { origin_system = null, origin_id = null, origin_evidence = null } = notice
  const origin = { origin_system, origin_id, origin_evidence }
  return {
    site_id,
    consent_id,
    subject_id,
    country,
    region,
    user_agent,
    ip_network,
    notice_locale,
    notice_entry,
    ...origin,
  }
}

function stateOf({ accepted, preferences, policy_version }: State) {
  return JSON.stringify([accepted, preferences, policy_version])
}
