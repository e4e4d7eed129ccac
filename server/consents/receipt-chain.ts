import type { ChainEntry } from '../../src/evidence/entry.ts'
import { type Finding, verifyHistory } from '../../src/evidence/history.ts'
import { Failure } from '../failure.ts'
import type { EventRow } from './receipt-queries.ts'

/**
 * Throws `internal_error` unless record and history are as they were written. Its message is what the log has of it too, and
 * so it names the record.
 */
export function requireWhole(id: string, rows: readonly EventRow[]): void {
  const problem = problemOf(id, rows)
  if (problem === null) return
  const message = `The record ${id} is not what was written: ${problem}. No receipt of it is signed.`
  throw new Failure('internal_error', message)
}

function problemOf(id: string, rows: readonly EventRow[]): string | null {
  const last = rows.at(-1)
  if (!last) return 'it has no history'
  const { record_hash: recordHash, ...identity } = last
  const [found] = verifyHistory({ id, recordHash, identity }, rows.map(entryOf))
  if (found) return sentenceOf(found)
  if (last.record_version !== last.version) return 'its history does not end where it does'
  return last.chain_head.equals(last.hash) ? null : 'its head is not the hash of its last entry'
}

function sentenceOf({ version, detail }: Finding): string {
  return version === null ? detail : `version ${version}: ${detail}`
}

function entryOf(row: EventRow): ChainEntry {
  const { changed_by: kind, actor_id: id, created_at: at, payload_hash: payloadHash } = row
  return { ...row, actor: { kind, id }, at, payloadHash }
}
