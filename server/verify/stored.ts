import { parseExactJson } from '../../src/contract/json.ts'
import type { ChainEntry } from '../../src/evidence/entry.ts'
import { type PieceRow, recordColumns, type StoredRecord } from './rows.ts'

/** All that a database holds of one record. */
export interface Stored {
  readonly id: string
  readonly record: StoredRecord | null
  readonly entries: readonly ChainEntry[]
  /** The hashes that the log has, by their versions. */
  readonly log: ReadonlyMap<number, Buffer>
  /** The versions whose preferences have a number that is read as another one; null for those of the record itself. */
  readonly inexact: readonly (number | null)[]
}

/** Gathers the rows of one record. */
export function storedOf(id: string, pieces: readonly PieceRow[]): Stored {
  const log = new Map<number, Buffer>()
  const entries: ChainEntry[] = []
  const inexact: (number | null)[] = pieces[0] && !isExact(pieces[0].r_digits) ? [null] : []
  for (const piece of pieces) {
    if (piece.version === null) continue
    if (!isExact(piece.digits)) inexact.push(piece.version)
    if (piece.logged) log.set(piece.version, piece.logged)
    if (piece.hash) entries.push(entryOf(piece, piece.version, piece.hash))
  }
  const [first] = pieces
  return { id, record: first && first.r_id !== null ? recordOf(first) : null, entries, log, inexact }
}

/** Whether JSON is read as it is written: PostgreSQL keeps more digits than JavaScript, which would not see them. */
function isExact(json: string | null): boolean {
  if (json === null) return true
  try {
    parseExactJson(json)
    return true
  } catch {
    return false
  }
}

/** An entry, with nothing in place of what may not be missing: that has no hash that fits, and is told for that. */
function entryOf(piece: PieceRow, version: number, hash: Buffer): ChainEntry {
  const { accepted, preferences, policy_version, salt } = piece
  return {
    version,
    action: piece.action ?? '',
    accepted,
    preferences,
    policy_version,
    actor: { kind: piece.changed_by ?? '', id: piece.actor_id },
    at: piece.created_at ?? new Date(Number.NaN),
    salt,
    payloadHash: piece.payload_hash ?? Buffer.alloc(0),
    hash,
  }
}

function recordOf(piece: PieceRow): StoredRecord {
  const record: Record<string, unknown> = {}
  for (const name of recordColumns) record[name] = piece[`r_${name}`]
  record['chain_head'] ??= Buffer.alloc(0)
  return record as unknown as StoredRecord
}
