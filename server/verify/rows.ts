import type { Identity, State } from '../../src/evidence/chain.ts'

/** A record under the names that `listPieces` gives its columns; all of them null where there is none. */
type RecordColumns = {
  [Name in keyof StoredRecord as `r_${Name}`]: StoredRecord[Name] | null
}

export interface StoredRecord extends Identity, State {
  readonly id: string
  /** The site's id where the account has it, else null. */
  readonly site: string | null
  readonly version: number
  readonly record_hash: Buffer
  readonly chain_head: Buffer
  readonly created_at: Date
  readonly updated_at: Date
  readonly deleted_at: Date | null
  readonly purged_at: Date | null
  /** As in PieceRow. */
  readonly digits: string | null
}

/**
 * One version of a record: its entry, and the hash that the log has of it. Null where they are missing, and in any column of
 * which somebody has taken that none may be null.
 */
export interface PieceRow extends State, RecordColumns {
  readonly record_id: string | null
  /** Null where the record has neither history nor log. */
  readonly version: number | null
  readonly action: string | null
  readonly changed_by: string | null
  readonly actor_id: string | null
  readonly created_at: Date | null
  readonly salt: Buffer | null
  readonly payload_hash: Buffer | null
  /** The preferences as they are stored, where a number of them may have more digits than a double keeps. */
  readonly digits: string | null
  /** Null where the history has no such entry. */
  readonly hash: Buffer | null
  /** Null where the log has none. */
  readonly logged: Buffer | null
}

export interface LeafRow {
  readonly leaf_index: number
  /** Null where somebody has taken it. */
  readonly hash: Buffer | null
  readonly consent_id: string
  readonly version: number
}

export const recordColumns = [
  ...([
    'id',
    'site',
    'site_id',
    'consent_id',
    'subject_id',
    'country',
    'region',
    'user_agent',
    'ip_network',
  ] as const),
  ...(['accepted', 'preferences', 'policy_version', 'version', 'record_hash', 'chain_head'] as const),
  ...(['created_at', 'updated_at', 'deleted_at', 'purged_at', 'digits'] as const),
] satisfies (keyof StoredRecord)[]
