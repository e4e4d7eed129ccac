import type { View } from '../output/index.ts'
import { field } from './field.ts'

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
