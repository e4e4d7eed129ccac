import { idBytes, idOf, pooledBytes, sha256 } from './bytes.ts'
import { canonical, jcs } from './canonical.ts'

/** State of a record after the event of an audit entry. */
export interface State {
  readonly accepted: boolean
  readonly preferences: Readonly<Record<string, unknown>>
  readonly policy_version: number
}

/** Fields of a record that no update changes. */
export interface Identity {
  readonly site_id: string
  readonly consent_id: string | null
  readonly subject_id: string | null
  readonly country: string | null
  readonly region: string | null
  readonly user_agent: string | null
  readonly ip_network: string | null
}

export type Action = 'created' | 'updated' | 'deleted' | 'purged'

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
  /** Hash of the identity, in the first entry and in that of a purge, which removes most of the fields. */
  readonly recordHash?: Buffer
  /** Hash of what a purge leaves of the previous entries; only in its entry. */
  readonly historyHash?: Buffer
}

export interface Link {
  readonly salt: Buffer
  readonly payloadHash: Buffer
  readonly hash: Buffer
}

/** Prefixes of the kinds of hashes, so that none can pass for another. */
const domain = {
  payload: Buffer.of(0x00),
  entry: Buffer.of(0x01),
  record: Buffer.of(0x02),
  history: Buffer.of(0x03),
} as const

const none = { hash: Buffer.alloc(32), id: Buffer.alloc(16) } as const

/**
 * Returns `SHA-256(0x02 || salt || JCS(identity))`. The salt is that of the containing entry: once it is purged, nobody can
 * test a guess of the subject against the hash.
 */
export function hashRecord(identity: Identity, salt: Buffer): Buffer {
  const { consent_id, country, ip_network, region, site_id, subject_id, user_agent } = identity
  const sorted = { consent_id, country, ip_network, region, site_id, subject_id, user_agent }
  return sha256Of(domain.record, salt, Buffer.from(JSON.stringify(sorted))) // equals JCS for sorted names and flat values
}

/**
 * Returns `SHA-256(0x03 || JCS([[accepted, policy_version], …]))`: what a purge leaves of the previous entries, oldest
 * first.
 */
export function hashHistory(entries: readonly Pick<State, 'accepted' | 'policy_version'>[]): Buffer {
  const left = entries.map(({ accepted, policy_version }) => [accepted, policy_version])
  return sha256Of(domain.history, jcs(left))
}

/** Returns `SHA-256(0x00 || salt || JCS(payload))`: the payload is the state, with the entry's other hashes if it has them. */
export function hashPayload(
  state: State,
  salt: Buffer,
  { recordHash, historyHash }: Pick<Event, 'recordHash' | 'historyHash'> = {},
): Buffer {
  const { accepted, preferences, policy_version } = state
  const history = historyHash ? `,"history_hash":"${historyHash.toString('hex')}"` : ''
  const record = recordHash ? `,"record_hash":"${recordHash.toString('hex')}"` : ''
  const payload = `{"accepted":${accepted}${history},"policy_version":${policy_version},"preferences":${canonical(preferences)}${record}}`
  return sha256Of(domain.payload, salt, Buffer.from(payload))
}

/**
 * Returns `SHA-256(0x01 || previous || id || version || action || actor || time || payload hash)`; README.md has the
 * encodings.
 */
export function hashEntry(event: Omit<Event, 'state'>, payloadHash: Buffer): Buffer {
  const version = Buffer.allocUnsafe(4)
  version.writeUInt32BE(event.version)
  const time = Buffer.allocUnsafe(8)
  time.writeBigInt64BE(BigInt(event.at.getTime()))
  return sha256Of(
    domain.entry,
    event.previous ?? none.hash,
    idBytes(event.id),
    version,
    prefixed(event.action),
    prefixed(event.actor.kind),
    event.actor.id === null ? none.id : idBytes(event.actor.id),
    time,
    payloadHash,
  )
}

export function newSalt(): Buffer {
  return pooledBytes(16)
}

export function linkOf(event: Event, salt = newSalt()): Link {
  const payloadHash = hashPayload(event.state, salt, event)
  return { salt, payloadHash, hash: hashEntry(event, payloadHash) }
}

/** Returns a UUID version 8 (RFC 9562 section 5.8) made of the hash. */
export function entryId(hash: Buffer): string {
  const bytes = Buffer.from(hash.subarray(0, 16))
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return idOf(bytes.toString('hex'))
}

function prefixed(text: string): Buffer {
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text)])
}

function sha256Of(...parts: Buffer[]): Buffer {
  return sha256(Buffer.concat(parts))
}

/** A stored entry, possibly tampered with. */
export interface ChainEntry extends State {
  readonly version: number
  readonly action: string
  readonly actor: { readonly kind: string; readonly id: string | null }
  readonly at: Date
  /** Null after a purge. */
  readonly salt: Buffer | null
  readonly payloadHash: Buffer
  readonly hash: Buffer
  /** True if the payload hash was verified, and the preferences dropped. */
  readonly isPayloadVerified?: boolean
}

/**
 * Drops the preferences of an entry that fits its payload hash. Only for payloads that are the state alone: neither the
 * first nor that of a purge.
 */
export function dropVerified(entry: ChainEntry): ChainEntry {
  if (entry.action === 'purged' || !expectedPayloadHash(entry)?.equals(entry.payloadHash)) return entry
  return { ...entry, preferences: {}, isPayloadVerified: true }
}

/** Returns the hash of an entry after `previous`; empty if its time or version cannot be encoded. */
export function expectedHash(id: string, entry: ChainEntry, previous: Buffer | null, payloadHash: Buffer): Buffer {
  const { version, action, actor, at } = entry
  if (Number.isNaN(at.getTime()) || !(version >= 0 && version < 2 ** 32)) return Buffer.alloc(0)
  const event = { id, version, at, previous, action: action as Action, actor: actor as Actor }
  return hashEntry(event, payloadHash)
}

/** Returns null if it cannot be computed. */
export function expectedPayloadHash(
  entry: ChainEntry,
  { recordHash, historyHash }: { recordHash?: Buffer | undefined; historyHash?: Buffer | undefined } = {},
): Buffer | null {
  if (entry.salt === null) return null
  if (entry.isPayloadVerified) return entry.payloadHash
  try {
    return hashPayload(entry, entry.salt, {
      ...(recordHash && { recordHash }),
      ...(historyHash && { historyHash }),
    })
  } catch {
    return null // JSON has no such number
  }
}

/** Longest history in which every position is tried for a moved entry. */
const maxReorderable = 40

/** Returns the original version of a moved entry; null if it was not moved. */
export function findRecordedVersion(id: string, entry: ChainEntry, entries: readonly ChainEntry[]): number | null {
  if (entries.length > maxReorderable) return null
  const previous = [null, ...entries.map(({ hash }) => hash)]
  for (const { version } of entries) {
    if (version === entry.version) continue
    const moved = { ...entry, version }
    if (previous.some(hash => expectedHash(id, moved, hash, entry.payloadHash).equals(entry.hash))) return version
  }
  return null
}
