import type { DatabaseFinding } from '../contract/index.ts'
import type { View } from '../output/index.ts'
import { field, minute, second, stateField } from './field.ts'

/** Result of the verification of a record's history. */
export interface VerificationRow {
  /** Id of the record. */
  readonly id: string
  readonly entries: number
  readonly result: 'ok' | 'not_valid' | 'unverifiable'
  /** Null if the result is `ok`, unless the checkpoint does not prove all entries. */
  readonly detail: string | null
  /** The basis of an `ok`: the history alone, or its place in the log. Null otherwise. */
  readonly basis: string | null
}

export const verificationView: View<VerificationRow> = {
  id: row => (row.result === 'ok' ? '' : row.id),
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('entries', { rank: 5 }),
    stateField('result', { rank: 2 }),
    field('detail', { rank: 3 }),
    field('basis', { rank: 4 }),
  ],
}

/** Result of the verification of a signed document. */
export interface VerdictRow {
  readonly file: string
  /** Type that the document claims; null if it claims none. */
  readonly type: string | null
  /** `unsigned`: the files of an evidence pack fit a list of them that nobody signed. */
  readonly result: 'valid' | 'not_valid' | 'unsigned'
  /** Id of the key whose signature is valid; null if none is. */
  readonly signed_by: string | null
  /** Time that the signer claims. */
  readonly issued_at: string | null
  /** The reason if it is not valid; if it is, the source of the key. */
  readonly detail: string
}

export const verdictView: View<VerdictRow> = {
  id: row => row.file,
  columns: [
    field('file', { rank: 1 }),
    field('type', { rank: 4 }),
    stateField('result', { rank: 2 }),
    field('signed_by', { whole: true, rank: 6 }),
    field('issued_at', { text: row => minute(row.issued_at), whole: true, rank: 5 }),
    field('detail', { rank: 3 }),
  ],
}

/** A checkpoint that was kept, or a finding because of which none is. */
export interface CheckpointRow {
  readonly account_id: string | null
  /** Number of audit entries that it covers. */
  readonly tree_size: number | null
  readonly root_hash: string | null
  readonly created_at: string | null
  readonly result: 'kept' | 'not_valid'
  readonly detail: string | null
}

export const checkpointView: View<CheckpointRow> = {
  id: row => (row.result === 'kept' ? (row.account_id ?? '') : ''),
  columns: [
    field('account_id', { whole: true, rank: 1 }),
    field('tree_size', { title: 'entries', rank: 3 }),
    field('root_hash', { rank: 6 }),
    field('created_at', { text: row => second(row.created_at ?? ''), rank: 4 }),
    stateField('result', { rank: 2 }),
    field('detail', { rank: 5 }),
  ],
}

export const findingView: View<DatabaseFinding> = {
  id: row => row.consent_id ?? '',
  columns: [
    field('account_id', { whole: true, rank: 5 }),
    field('consent_id', { whole: true, rank: 1 }),
    field('version', { rank: 4 }),
    field('problem', { whole: true, rank: 2 }),
    field('detail', { rank: 3 }),
  ],
}
