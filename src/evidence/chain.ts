import { idOf, Preimage, pooledBytes, sha256 } from './bytes.ts'
import { canonical } from './canonical.ts'
import { lastingOf, personalOf, type Reported } from './circumstances.ts'

/** State of a record after an event. */
export interface State {
  readonly accepted: boolean
  readonly preferences: Readonly<Record<string, unknown>>
  readonly policy_version: number
}

/** Fields that are never updated. */
export interface Identity {
  readonly site_id: string
  readonly consent_id: string | null
  readonly subject_id: string | null
  readonly country: string | null
  readonly region: string | null
  readonly user_agent: string | null
  readonly ip_network: string | null
  /** BCP 47 language of the notice shown, as reported by the sender. */
  readonly notice_locale?: string | null
  /** Version of the account's entry that published the notice; null if there is none. */
  readonly notice_entry?: number | null
  /** As reported by the importer: the system, the record's id there, and a proof there. */
  readonly origin_system?: string | null
  readonly origin_id?: string | null
  readonly origin_evidence?: string | null
}

/** Mostly as reported by the sender. The entry's hash covers what a purge leaves of them, which stays verifiable. */
export interface Facts {
  /** How the answer was given. A purge removes its personal part, which the payload hash covers. */
  readonly circumstances?: Reported
  /** SHA-256 of an imported entry's source file, in lower-case hexadecimal. */
  readonly file_sha256?: string
  /** Time of the answer, as reported by the importer; UTC with milliseconds. */
  readonly given_at?: string
  /** The request had `Sec-GPC: 1`. */
  readonly gpc?: boolean
  /** An erasure request deleted the record, or covers its earlier deletion. */
  readonly erased?: boolean
}

export interface FactColumns {
  readonly circumstances: Reported | null
  readonly file_sha256: Buffer | null
  readonly given_at: Date | null
  readonly gpc: boolean | null
  readonly erased: boolean | null
}

/** Undefined if all columns are null. */
export function readFacts({ circumstances, file_sha256, given_at, gpc, erased }: FactColumns): Facts | undefined {
  if ([circumstances, file_sha256, given_at, gpc, erased].every(fact => fact === null)) return undefined
  return {
    ...(circumstances !== null && { circumstances }),
    ...(file_sha256 !== null && { file_sha256: file_sha256.toString('hex') }),
    ...(given_at !== null && { given_at: Number.isNaN(given_at.getTime()) ? 'invalid' : given_at.toISOString() }),
    ...(gpc !== null && { gpc }),
    ...(erased !== null && { erased }),
  }
}

/** Kept by a purge on a site with sealed proofs, until an instant: what the holder of an identifier can prove with it. */
export interface Sealed extends SealedProof {
  readonly basis: string
  /** UTC with milliseconds. */
  readonly until: string
}

export interface SealedProof {
  /** Keyed, in hexadecimal. */
  readonly subject_hmac: string
  /** The entries whose acceptance or choices differ from those of the entry before. */
  readonly answers: { version: number; preferences: Record<string, boolean> }[]
}

/** The proof itself is shown only to a caller who presents the identifier. */
export interface ShownSealed extends Pick<Sealed, 'basis' | 'until'> {
  readonly proof_hash: string
  readonly subject_hmac?: string | undefined
  readonly answers?: SealedProof['answers'] | undefined
}

/** `restored_despite_erasure`: an erasure request covered the record. */
export type Action = 'created' | 'imported' | 'updated' | 'deleted' | 'purged' | 'restored' | 'restored_despite_erasure'

/** The first deletion since the record was last live; undefined if it is live. */
export function findDeletion<Entry extends { readonly action: string | null }>(
  entries: readonly Entry[],
): Entry | undefined {
  const start = entries.findLastIndex(({ action }) => action !== 'deleted' && action !== 'purged')
  return entries.slice(start + 1).find(({ action }) => action === 'deleted')
}

export type Actor =
  | { readonly kind: 'api_key' | 'user' | 'site_token'; readonly id: string }
  | { readonly kind: 'system'; readonly id: null }

/** The service itself: a schedule or the operator. */
export const system: Actor = { kind: 'system', id: null }

export interface Event {
  readonly id: string
  readonly version: number
  readonly action: Action
  readonly actor: Actor
  readonly at: Date
  /** Null for the first entry. */
  readonly previous: Buffer | null
  readonly state: State
  readonly facts?: Facts | undefined
  /** Only in the first entry and in a purge, which removes most of the identity. */
  readonly recordHash?: Buffer
  /** Hash of what a purge leaves of the previous entries; only in the purge's entry. */
  readonly historyHash?: Buffer
  /** Only in a purge's entry. */
  readonly sealed?: ShownSealed | undefined
}

export interface Link {
  readonly salt: Buffer
  readonly payloadHash: Buffer
  readonly hash: Buffer
}

/** Domain separation: one kind of hash cannot pass for another. */
const domain = {
  payload: 0x00,
  entry: 0x01,
  record: 0x02,
  history: 0x03,
  sealed: 0x04,
} as const

const preimage = new Preimage()

const none = { hash: Buffer.alloc(32), id: Buffer.alloc(16) } as const

/**
 * `SHA-256(0x02 || salt || JCS(identity))`. The salt is the entry's: after its purge, no guess of the subject can be
 * tested.
 */
export function hashRecord(identity: Identity, salt: Buffer): Buffer {
  const { consent_id, country, ip_network, region, site_id, subject_id, user_agent } = identity
  const sorted = {
    consent_id,
    country,
    ip_network,
    notice_entry: identity.notice_entry ?? null,
    notice_locale: identity.notice_locale ?? null,
    origin_evidence: identity.origin_evidence ?? null,
    origin_id: identity.origin_id ?? null,
    origin_system: identity.origin_system ?? null,
    region,
    site_id,
    subject_id,
    user_agent,
  }
  const text = JSON.stringify(sorted) // equals JCS for sorted names and flat values
  return preimage.start().uint8(domain.record).bytes(salt).text(text).sha256()
}

/**
 * `SHA-256(0x03 || JCS([[accepted, policy_version], …]))` of what a purge leaves of the previous entries, oldest
 * first.
 */
export function hashHistory(entries: readonly Pick<State, 'accepted' | 'policy_version'>[]): Buffer {
  const left = entries.map(({ accepted, policy_version }) => [accepted, policy_version])
  return preimage.start().uint8(domain.history).text(canonical(left)).sha256()
}

/** `SHA-256(0x04 || salt || JCS(proof))`, in hexadecimal: without the proof, no guess of the subject can be tested. */
export function hashSealed({ subject_hmac, answers }: SealedProof, salt: Buffer): string {
  const text = canonical({ answers, subject_hmac })
  return preimage.start().uint8(domain.sealed).bytes(salt).text(text).sha256().toString('hex')
}

/** Shows the proof with its hash if `withProof`, else the hash alone. */
export function showSealed({ basis, until, ...proof }: Sealed, salt: Buffer, withProof: boolean): ShownSealed {
  return { basis, until, proof_hash: hashSealed(proof, salt), ...(withProof && proof) }
}

/**
 * `SHA-256(0x00 || salt || JCS(payload))`. The payload is the personal part of the state: the preferences, the
 * personal part of the circumstances, what is sealed, and the entry's record and history hashes if any. The rest stays
 * verifiable after a purge.
 */
export function hashPayload(
  preferences: State['preferences'],
  salt: Buffer,
  { recordHash, historyHash, facts, sealed: kept }: Pick<Event, 'recordHash' | 'historyHash' | 'facts' | 'sealed'> = {},
): Buffer {
  const personal = personalOf(facts?.circumstances)
  const circumstances = personal ? `"circumstances":${canonical(personal)},` : ''
  const history = historyHash ? `"history_hash":"${historyHash.toString('hex')}",` : ''
  const record = recordHash ? `,"record_hash":"${recordHash.toString('hex')}"` : ''
  const { basis, proof_hash, until } = kept ?? {}
  const sealed = kept ? `,"sealed":${canonical({ basis, proof_hash, until })}` : ''
  const payload = `{${circumstances}${history}"preferences":${canonical(preferences)}${record}${sealed}}`
  return preimage.start().uint8(domain.payload).bytes(salt).text(payload).sha256()
}

/**
 * `SHA-256(0x01 || previous || id || version || action || actor || time || accepted || policy version ||
 * SHA-256(JCS(facts)) || payload hash)`. README.md has the encodings.
 */
export function hashEntry(event: Omit<Event, 'recordHash' | 'historyHash' | 'sealed'>, payloadHash: Buffer): Buffer {
  const { id, version, action, actor, at, previous, state, facts = {} } = event
  const factsHash = hashFacts(facts)
  preimage
    .start()
    .uint8(domain.entry)
    .bytes(previous ?? none.hash)
    .id(id)
    .uint32(version)
  addPrefixed(action)
  addPrefixed(actor.kind)
  if (actor.id === null) preimage.bytes(none.id)
  else preimage.id(actor.id)
  preimage.int64(BigInt(at.getTime()))
  preimage.uint8(state.accepted ? 1 : 0).uint32(state.policy_version)
  return preimage.bytes(factsHash).bytes(payloadHash).sha256()
}

function hashFacts({ circumstances: told, erased, file_sha256, given_at, gpc }: Facts): Buffer {
  const circumstances = lastingOf(told)
  return sha256(JSON.stringify({ circumstances, erased, file_sha256, given_at, gpc })) // equals JCS for sorted names
}

export function newSalt(): Buffer {
  return pooledBytes(16)
}

export function linkOf(event: Event, salt = newSalt()): Link {
  const payloadHash = hashPayload(event.state.preferences, salt, event)
  return { salt, payloadHash, hash: hashEntry(event, payloadHash) }
}

/** A UUIDv8 (RFC 9562 section 5.8) from the first 16 bytes. */
export function entryId(hash: Buffer): string {
  const bytes = Buffer.from(hash.subarray(0, 16))
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return idOf(bytes.toString('hex'))
}

function addPrefixed(text: string): void {
  preimage.uint8(text.length).text(text)
}

/** Values as stored, which may have been tampered with. */
export interface ChainEntry extends State {
  readonly version: number
  readonly action: string
  readonly actor: { readonly kind: string; readonly id: string | null }
  readonly at: Date
  readonly facts?: Facts | undefined
  readonly sealed?: ShownSealed | undefined
  /** Null after a purge. */
  readonly salt: Buffer | null
  readonly payloadHash: Buffer
  readonly hash: Buffer
  /** The payload was verified and the preferences dropped. */
  readonly isPayloadVerified?: boolean
}

/** Drops verified preferences. Not for a first entry or a purge: their payloads contain other hashes. */
export function dropVerified(entry: ChainEntry): ChainEntry {
  if (entry.action === 'purged' || !expectedPayloadHash(entry)?.equals(entry.payloadHash)) return entry
  return { ...entry, preferences: {}, isPayloadVerified: true }
}

/** Returns the entry's hash after `previous`; an empty buffer if a value cannot be encoded. */
export function expectedHash(
  id: string,
  entry: ChainEntry,
  { previous, payloadHash = entry.payloadHash }: { readonly previous: Buffer | null; readonly payloadHash?: Buffer },
): Buffer {
  const { version, action, actor, at, accepted, policy_version, facts } = entry
  const isState = typeof accepted === 'boolean' && isUint32(policy_version)
  if (Number.isNaN(at.getTime()) || !isUint32(version) || !isState) return Buffer.alloc(0)
  const event = { id, version, at, previous, action: action as Action, actor: actor as Actor, state: entry, facts }
  return hashEntry(event, payloadHash)
}

function isUint32(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < 2 ** 32
}

/** Null if the salt is purged or the payload cannot be hashed. */
export function expectedPayloadHash(
  entry: ChainEntry,
  { recordHash, historyHash }: { recordHash?: Buffer | undefined; historyHash?: Buffer | undefined } = {},
): Buffer | null {
  if (entry.salt === null) return null
  if (entry.isPayloadVerified) return entry.payloadHash
  try {
    return hashPayload(entry.preferences, entry.salt, {
      facts: entry.facts,
      sealed: entry.sealed,
      ...(recordHash && { recordHash }),
      ...(historyHash && { historyHash }),
    })
  } catch {
    return null // such as NaN
  }
}
