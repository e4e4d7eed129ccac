import type { DatabaseFinding } from '../contract/index.ts'
import type { Verdict } from '../evidence/verdict.ts'
import type { View } from '../output/index.ts'
import { field, minute, second, stateField } from './field.ts'

export interface VerificationRow {
  readonly id: string
  readonly entries: number
  /** `not_covered`: consistent, but newer than the checkpoint. */
  readonly result: 'ok' | 'not_covered' | 'not_valid' | 'unverifiable'
  /** Null if `ok`, unless the checkpoint does not prove all entries. */
  readonly detail: string | null
  /** Of `ok` and `not_covered`: the history alone, or its place in the log. */
  readonly basis: string | null
}

export const verificationView: View<VerificationRow> = {
  id: row => (row.result === 'ok' || row.result === 'not_covered' ? '' : row.id),
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('entries', { rank: 5 }),
    stateField('result', { rank: 2 }),
    field('detail', { rank: 3 }),
    field('basis', { rank: 4 }),
  ],
}

export interface VerdictRow extends Verdict {
  readonly file: string
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

/** A kept checkpoint, or the finding that prevented it. */
export interface CheckpointRow {
  readonly account_id: string | null
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
