import { type Action, type Actor, hashEntry, hashPayload, type State } from './chain.ts'

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
  extra: { recordHash: Buffer | undefined; historyHash: Buffer | undefined },
): Buffer | null {
  if (entry.salt === null) return null
  try {
    const { recordHash, historyHash } = extra
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
