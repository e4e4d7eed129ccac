import type { Problem } from '../contract/index.ts'
import { hashHistory, hashRecord, type Identity } from './chain.ts'
import { type ChainEntry, hashOf, originOf, payloadOf } from './entry.ts'
import { ofActions, ofOrder } from './order.ts'

export interface Finding {
  /** The version of the entry; null where it is about the record. */
  readonly version: number | null
  readonly problem: Problem
  /** For people. */
  readonly detail: string
}

/** What is known of the record beside its history. */
export interface ChainRecord {
  readonly id: string
  readonly recordHash: Buffer | null
  /** The fields that the record's hash covers, where they are known. */
  readonly identity?: Identity
  /** Whether a purge has taken all it takes. A long history loses its data bit by bit, the oldest entries first. */
  readonly isPurged?: boolean
}

/** Verifies the whole history of one record, oldest entry first; nothing is found where all is as it was written. */
export function verifyHistory(record: ChainRecord, entries: readonly ChainEntry[]): Finding[] {
  const findings = [...ofOrder(entries), ...ofActions(record, entries)]
  const purge = entries.findIndex(({ action }) => action === 'purged')
  const anchor = entries[purge === -1 ? 0 : purge]
  let before: Before = { version: 0, hashes: [null] }
  for (const [index, entry] of entries.entries()) {
    const isStripped = index < purge && entry.salt === null
    if (isStripped ? !isEmpty(entry) : index < purge && record.isPurged) {
      const detail = 'has personal data again that was purged'
      findings.push({ version: entry.version, problem: 'changed', detail })
    }
    const recordHash = entry === anchor ? (record.recordHash ?? undefined) : undefined
    const historyHash = index === purge ? hashHistory(entries.slice(0, purge)) : undefined
    const payload = isStripped ? entry.payloadHash : payloadOf(entry, { recordHash, historyHash })
    const link = linkTo(record.id, before, entry, payload)
    if (!link.isWhole) findings.push(ofEntry(record.id, entry, entries, { isStripped, payload, ...link }))
    // The hash itself may be what was changed: then the next entry goes on from the one that it should be.
    const others = link.isLinked || !payload ? [] : link.computed(payload).slice(0, 2)
    before = { version: entry.version, hashes: [entry.hash, ...others] }
  }
  if (record.identity && anchor) findings.push(...ofIdentity(record, record.identity, anchor))
  return findings
}

/** What an entry goes on from: the version before it, and the hashes that this may have had. */
interface Before {
  readonly version: number
  readonly hashes: readonly (Buffer | null)[]
}

interface Link {
  /** Whether its hash goes on from the entry before; behind a gap nothing can be said against that. */
  readonly isLinked: boolean
  /** Whether its payload is that of its hash, too. */
  readonly isWhole: boolean
  /** The hashes that it might have with a payload. */
  readonly computed: (payloadHash: Buffer) => Buffer[]
}

function linkTo(id: string, { version, hashes }: Before, entry: ChainEntry, payload: Buffer | null): Link {
  const previous = entry.version === version + 1 ? hashes : null
  const computed = (hash: Buffer) => previous?.map(link => hashOf(id, entry, link, hash)) ?? []
  const isLinked = previous === null || computed(entry.payloadHash).some(hash => hash.equals(entry.hash))
  return { isLinked, isWhole: isLinked && payload?.equals(entry.payloadHash) === true, computed }
}

function ofEntry(id: string, entry: ChainEntry, entries: readonly ChainEntry[], looked: Looked): Finding {
  const { version } = entry
  const origin = looked.isLinked ? null : originOf(id, entry, entries)
  if (origin === null) return { version, problem: 'changed', detail: detailOf(entry, looked) }
  return { version, problem: 'reordered', detail: `is what was recorded as version ${origin}` }
}

function isEmpty({ preferences }: ChainEntry): boolean {
  return JSON.stringify(preferences) === '{}' // it may hold what canonical JSON refuses
}

function ofIdentity(record: ChainRecord, identity: Identity, { salt }: ChainEntry): Finding[] {
  if (salt && record.recordHash && hashRecord(identity, salt).equals(record.recordHash)) return []
  const detail = 'its site, labels, place, user agent or address are not what was recorded'
  return [{ version: null, problem: 'changed', detail }]
}

interface Looked extends Pick<Link, 'isLinked' | 'computed'> {
  readonly isStripped: boolean
  readonly payload: Buffer | null
}

function detailOf(entry: ChainEntry, { isStripped, isLinked, payload, computed }: Looked): string {
  if (!isStripped && entry.salt === null) return 'its salt is missing, and it was never purged'
  if (payload === null) return 'its state cannot be hashed'
  if (isLinked) {
    return entry.action === 'purged'
      ? 'what it left of the entries before it, of the record or of itself is not what was recorded'
      : 'its acceptance, preferences, policy version or salt is not what was recorded'
  }
  if (payload.equals(entry.payloadHash)) return 'its action, actor, time or hash is not what was recorded'
  const isPayloadHash = computed(payload).some(hash => hash.equals(entry.hash))
  return isPayloadHash
    ? 'its payload hash is not what was recorded'
    : 'hardly anything of it is what was recorded'
}
