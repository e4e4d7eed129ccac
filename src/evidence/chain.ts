import { idBytes, idOf, pooledBytes, sha256 } from './bytes.ts'
import { canonical, jcs } from './canonical.ts'

/** The state that an audit entry records. */
export interface State {
  readonly accepted: boolean
  readonly preferences: Readonly<Record<string, unknown>>
  readonly policy_version: number
}

/** The fields of a record that no update changes. */
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

/** Who did something: a key, a user or a site by its id, or the service of itself. */
export type Actor =
  | { readonly kind: 'api_key' | 'user' | 'site_token'; readonly id: string }
  | { readonly kind: 'system'; readonly id: null }

/** What the service does of itself: what a schedule or its operator tells it. */
export const system: Actor = { kind: 'system', id: null }

export interface Event {
  /** The record's id. */
  readonly id: string
  readonly version: number
  readonly action: Action
  readonly actor: Actor
  readonly at: Date
  /** The hash of the entry before; null for the first. */
  readonly previous: Buffer | null
  readonly state: State
  /** Hash of the fields that no update changes: in the first entry, and anew in that of a purge, which takes most of them. */
  readonly recordHash?: Buffer
  /** In the entry of a purge: the hash of what it leaves of the entries before it. */
  readonly historyHash?: Buffer
}

/** An entry's link in the hash chain. */
export interface Link {
  readonly salt: Buffer
  readonly payloadHash: Buffer
  readonly hash: Buffer
}

/** Bytes that set the kinds of hashes apart, so that none can be passed off as another. */
const domain = {
  payload: Buffer.of(0x00),
  entry: Buffer.of(0x01),
  record: Buffer.of(0x02),
  history: Buffer.of(0x03),
} as const

/** In the place of what is missing. */
const none = { hash: Buffer.alloc(32), id: Buffer.alloc(16) } as const

/**
 * `SHA-256(0x02 || salt || JCS(identity))` (JCS: RFC 8785). The salt is that of the entry it goes into: once that is
 * purged, nobody can test a guess of the subject against the hash.
 */
export function hashRecord(identity: Identity, salt: Buffer): Buffer {
  const { consent_id, country, ip_network, region, site_id, subject_id, user_agent } = identity
  const sorted = { consent_id, country, ip_network, region, site_id, subject_id, user_agent }
  return sha256Of(domain.record, salt, Buffer.from(JSON.stringify(sorted))) // which is JCS for names in order and flat values
}

/**
 * `SHA-256(0x03 || JCS([[accepted, policy_version], …]))`: what a purge leaves of the entries before it, oldest first.
 * Their own payload hashes can no longer be worked out, for their salts are gone.
 */
export function hashHistory(entries: readonly Pick<State, 'accepted' | 'policy_version'>[]): Buffer {
  const left = entries.map(({ accepted, policy_version }) => [accepted, policy_version])
  return sha256Of(domain.history, jcs(left))
}

/**
 * `SHA-256(0x00 || salt || JCS(payload))`; the payload is the state, and in hexadecimal the hashes of record and history
 * where the entry has them.
 */
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
 * `SHA-256(0x01 || previous || id || version || action || actor || time || payload hash)`. Numbers are big-endian, 4
 * bytes for the version and 8 for the time in milliseconds; the action and the actor's kind have their length in a
 * byte before them; a missing hash or id is zeros.
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

/** The link for an event, with a salt of its own unless one is given. */
export function linkOf(event: Event, salt = newSalt()): Link {
  const payloadHash = hashPayload(event.state, salt, event)
  return { salt, payloadHash, hash: hashEntry(event, payloadHash) }
}

/** An entry's id: a UUID version 8 made of its hash (RFC 9562 section 5.8), so that it names what it identifies. */
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

/** An entry of a history as it is kept: whatever somebody may have made of it. */
export interface ChainEntry extends State {
  readonly version: number
  readonly action: string
  readonly actor: { readonly kind: string; readonly id: string | null }
  readonly at: Date
  /** Null once it is purged. */
  readonly salt: Buffer | null
  readonly payloadHash: Buffer
  readonly hash: Buffer
  /** True if the payload hash was verified, and the preferences dropped since. */
  readonly isPayloadVerified?: boolean
}

/**
 * Drops the preferences of an entry that fits its payload hash. Only for entries whose payload is the state alone: neither the
 * first nor that of a purge.
 */
export function dropVerified(entry: ChainEntry): ChainEntry {
  if (entry.action === 'purged' || !payloadOf(entry)?.equals(entry.payloadHash)) return entry
  return { ...entry, preferences: {}, isPayloadVerified: true }
}

/** The hash that an entry should have behind another one; empty where its time or version can have none. */
export function hashOf(id: string, entry: ChainEntry, previous: Buffer | null, payloadHash: Buffer): Buffer {
  const { version, action, actor, at } = entry
  if (Number.isNaN(at.getTime()) || !(version >= 0 && version < 2 ** 32)) return Buffer.alloc(0)
  const event = { id, version, at, previous, action: action as Action, actor: actor as Actor }
  return hashEntry(event, payloadHash)
}

/** The hash that its payload should have; null where it cannot be worked out. */
export function payloadOf(
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
    return null // a number that is none in JSON
  }
}

/** The longest history in which every place is tried for an entry that is not in its own. */
const most = 40

/** The version that an entry was recorded as, where that is another one than it has; null where it is none of these. */
export function originOf(id: string, entry: ChainEntry, entries: readonly ChainEntry[]): number | null {
  if (entries.length > most) return null
  const previous = [null, ...entries.map(({ hash }) => hash)]
  for (const { version } of entries) {
    if (version === entry.version) continue
    const moved = { ...entry, version }
    if (previous.some(hash => hashOf(id, moved, hash, entry.payloadHash).equals(entry.hash))) return version
  }
  return null
}
