import type { AuditEntry } from '../contract/index.ts'
import { entryId } from './chain.ts'
import type { ChainEntry } from './entry.ts'
import { verifyHistory } from './history.ts'

export interface Verified {
  /** `unverifiable` is for the history of an instance that offers no chain: nothing can be said of it. */
  readonly result: 'ok' | 'not_valid' | 'unverifiable'
  /** What was found, or why nothing can be; null where all is well. */
  readonly detail: string | null
}

/** Verifies the history of a record as an instance answers it, from that alone; its ids are in lower case. */
export function verifyAudit(id: string, entries: readonly AuditEntry[]): Verified {
  if (entries.length === 0) return { result: 'unverifiable', detail: 'the history is empty' }
  if (entries.every(({ hash, payload_hash, version }) => !hash && !payload_hash && !version)) {
    return { result: 'unverifiable', detail: 'the instance’s history has no hashes: it offers no chain' }
  }
  const anchor = entries.find(({ action }) => action === 'purged') ?? entries[0]
  const recordHash = hexBytes(anchor?.record_hash)
  const found = [
    ...entries.flatMap(entry => ofText(id, entry).map(detail => ({ version: entry.version, detail }))),
    ...verifyHistory({ id, recordHash }, entries.map(chainEntryOf)),
  ]
  if (found.length === 0) return { result: 'ok', detail: null }
  const sentences = found.map(({ version, detail }) =>
    version === null ? detail : `version ${version}: ${detail}`,
  )
  return { result: 'not_valid', detail: sentences.join('; ') }
}

/** What is in an answer beside the chain, and must agree with it. */
function ofText(id: string, entry: AuditEntry): string[] {
  const [hash, at] = [hexBytes(entry.hash), new Date(entry.created_at)]
  const found: string[] = []
  if (!hash || entry.id !== entryId(hash)) found.push('its id is not that of its hash')
  if (entry.consent_id !== id) found.push('it is of another record')
  if (Number.isNaN(at.getTime()) || at.toISOString() !== entry.created_at) found.push('its time is none')
  return found
}

function chainEntryOf(entry: AuditEntry): ChainEntry {
  return {
    version: entry.version ?? 0,
    action: entry.action ?? '',
    actor: { kind: entry.changed_by ?? '', id: entry.actor_id },
    at: new Date(entry.created_at),
    salt: hexBytes(entry.salt),
    accepted: entry.accepted as boolean,
    preferences: entry.preferences as Record<string, unknown>,
    policy_version: entry.policy_version as number,
    payloadHash: hexBytes(entry.payload_hash) ?? Buffer.alloc(0),
    hash: hexBytes(entry.hash) ?? Buffer.alloc(0),
  }
}

/** Bytes from their hexadecimal digits, in the one way they are written; null for anything else. */
function hexBytes(text: string | null | undefined): Buffer | null {
  return text && /^([\da-f]{2})+$/.test(text) ? Buffer.from(text, 'hex') : null
}
