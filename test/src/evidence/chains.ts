import type { AuditEntry } from '../../../src/contract/index.ts'
import {
  type Action,
  type Actor,
  entryId,
  type Facts,
  hashHistory,
  hashRecord,
  type Identity,
  linkOf,
  type Sealed,
  type State,
  showSealed,
  system,
} from '../../../src/evidence/chain.ts'

/** The id of a record that was made at `start`. */
export const start = Date.UTC(2026, 0, 31, 9, 30)
export const id = `${start
  .toString(16)
  .padStart(12, '0')
  .replace(/^(.{8})/, '$1-')}-7c3e-9a51-2f6a1f0d9b11`

const identity: Identity = {
  site_id: '01939d2c-7b1a-7c3e-9a51-000000000abc',
  consent_id: null,
  subject_id: 'maria@example.com',
  country: 'DE',
  region: null,
  user_agent: null,
  ip_network: '203.0.113.0/24',
}
const origin = { origin_system: 'old-banner', origin_id: '4711', origin_evidence: 'page 3' }
const gone = { subject_id: null, ip_network: null, origin_id: null, origin_evidence: null }

/** What an importer tells of the answer at an index of a history. */
export function importedFacts(index: number): Facts {
  return { file_sha256: 'f1'.repeat(32), given_at: new Date(Date.UTC(2020, 4, 25 + index)).toISOString() }
}

/** The history of a record as our service answers it, by the actions that made it. */
export function historyOf(...actions: Action[]): AuditEntry[] {
  return historyWith(actions)
}

/** The same, made anew by an attacker with other times than that of the id. */
export function historyAt(begin: number, ...actions: Action[]): AuditEntry[] {
  return historyWith(actions, undefined, undefined, undefined, begin)
}

export const sealed: Sealed = {
  basis: 'GDPR Art. 17(3)(e)',
  until: '2036-01-31T09:30:02.000Z',
  subject_hmac: 'a1'.repeat(32),
  answers: [
    { version: 1, preferences: { news: true } },
    { version: 2, preferences: { news: false } },
  ],
}

/** The same, whose first purge left a sealed proof, which is shown as a whole or by its hash. */
export function sealedHistory(withProof: boolean, ...actions: Action[]): AuditEntry[] {
  return historyWith(actions, undefined, undefined, undefined, start, withProof)
}

/** The same, each entry with the preferences, actor and facts that are given for its index. */
export function historyWith(
  actions: readonly Action[],
  preferencesOf: (index: number) => Record<string, unknown> = index => ({ index }),
  actorOf: (index: number) => Actor = () => system,
  factsOf: (index: number) => Facts | undefined = index =>
    actions[index] === 'imported' ? importedFacts(index) : undefined,
  begin = start,
  withProof?: boolean,
): AuditEntry[] {
  const of = actions[0] === 'imported' ? { ...identity, ...origin } : identity
  let previous: Buffer | null = null
  const entries: AuditEntry[] = []
  for (const [index, action] of actions.entries()) {
    const salt = Buffer.alloc(16, index + 1)
    const state: State = {
      accepted: action === 'purged' ? (entries.at(-1)?.accepted ?? false) : index % 2 === 0,
      preferences: action === 'purged' ? {} : preferencesOf(index),
      policy_version: 3,
    }
    const isPurge = action === 'purged'
    const recordHash = isPurge || index === 0 ? hashRecord(isPurge ? { ...of, ...gone } : of, salt) : undefined
    const at = new Date(action === 'imported' ? begin : begin + index * 1000)
    const actor = actorOf(index)
    const facts = factsOf(index)
    const isSealed = isPurge && withProof !== undefined && !entries.some(entry => entry.action === 'purged')
    const shown = isSealed && { sealed: showSealed(sealed, salt, withProof) }
    const event = {
      ...{ id, version: index + 1, action, actor, at, previous, state, facts },
      ...(recordHash && { recordHash }),
      ...(isPurge && { historyHash: hashHistory(entries as State[]) }),
      ...shown,
    }
    const { hash, payloadHash } = linkOf(event, salt)
    if (isPurge) for (const [index, entry] of entries.entries()) entries[index] = purgedEntry(entry)
    entries.push({
      ...{ id: entryId(hash), consent_id: id, action, ...state },
      ...{ changed_by: actor.kind, actor_id: actor.id, created_at: at.toISOString(), version: index + 1 },
      ...{ salt: salt.toString('hex'), record_hash: recordHash?.toString('hex') ?? null },
      ...{ payload_hash: payloadHash.toString('hex'), hash: hash.toString('hex') },
      ...facts,
      ...shown,
    })
    previous = hash
  }
  return entries
}

function purgedEntry({ circumstances, sealed: ____, ...entry }: AuditEntry): AuditEntry {
  const { relation: _, reference: __, note: ___, ...left } = circumstances ?? {}
  const told = Object.keys(left).length > 0 && { circumstances: left }
  return { ...entry, salt: null, record_hash: null, preferences: {}, ...told }
}

/** How an answer was given: the second time only by what a purge removes. */
export function circumstancesOf(index: number): NonNullable<Facts['circumstances']> {
  if (index === 1) return { note: 'called back' }
  return {
    ...{ method: 'paper', channel: 'shop 3', form: 'F-12', form_sha256: 'f2'.repeat(32), given_by: 'guardian' },
    ...{ relation: 'mother', confirmed_at: '2026-01-31T09:29:00.000Z', reference: 'K-77', note: 'signed „here“' },
  }
}

/** The history with the entry of its purge made again, by an attacker who has changed entries before it. */
export function purgedAnew(entries: readonly AuditEntry[]): AuditEntry[] {
  const purge = entries.at(-1) as AuditEntry
  const [salt, recordHash] = [Buffer.from(purge.salt ?? '', 'hex'), Buffer.from(purge.record_hash ?? '', 'hex')]
  const before = entries.slice(0, -1)
  const { hash, payloadHash } = linkOf(
    {
      ...{ id, version: entries.length, action: 'purged', actor: system, at: new Date(purge.created_at) },
      ...{ previous: Buffer.from(before.at(-1)?.hash ?? '', 'hex'), state: purge as State },
      ...{ recordHash, historyHash: hashHistory(before as State[]) },
    },
    salt,
  )
  const hashes = { id: entryId(hash), hash: hash.toString('hex'), payload_hash: payloadHash.toString('hex') }
  return [...before, { ...purge, ...hashes }]
}
