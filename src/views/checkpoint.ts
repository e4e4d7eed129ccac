import type { View } from '../output/index.ts'
import { field, second } from './field.ts'

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
