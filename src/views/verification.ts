import type { DatabaseFinding } from '../contract/index.ts'
import type { View } from '../output/index.ts'
import { field, minute, second } from './field.ts'

/** Whether the history of a record is what was written. */
export interface VerificationRow {
  /** The record's. */
  readonly id: string
  readonly entries: number
  readonly result: 'ok' | 'not_valid' | 'unverifiable'
  /** Null where all is well. */
  readonly detail: string | null
}

export const verificationView: View<VerificationRow> = {
  id: row => (row.result === 'ok' ? '' : row.id),
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('entries', { rank: 4 }),
    field('result', { whole: true, rank: 2 }),
    field('detail', { rank: 3 }),
  ],
}

/** What is to be said of a signed document. */
export interface VerdictRow {
  readonly file: string
  /** As the document says; null where it says none. */
  readonly type: string | null
  readonly result: 'valid' | 'not_valid'
  /** The id of the key whose signature it certainly has; null where that is not so. */
  readonly signed_by: string | null
  /** When it was made, as whoever signed it says. */
  readonly issued_at: string | null
  /** Why it is not valid; else where the key is from. */
  readonly detail: string
}

export const verdictView: View<VerdictRow> = {
  id: row => row.file,
  columns: [
    field('file', { rank: 1 }),
    field('type', { rank: 4 }),
    field('result', { whole: true, rank: 2 }),
    field('signed_by', { whole: true, rank: 6 }),
    field('issued_at', { text: row => minute(row.issued_at), whole: true, rank: 5 }),
    field('detail', { rank: 3 }),
  ],
}

/** A checkpoint that is kept, or what stands against keeping any. */
export interface CheckpointRow {
  readonly account_id: string | null
  /** How many audit entries it covers. */
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
    field('result', { whole: true, rank: 2 }),
    field('detail', { rank: 5 }),
  ],
}

/** Something in a database that is not what the service wrote. */
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
