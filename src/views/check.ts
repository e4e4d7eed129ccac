import type { View } from '../output/index.ts'
import { field } from './field.ts'

/** One thing that was looked at. */
export interface CheckRow {
  readonly check: string
  /** `skip` is for what cannot be said, because something else is missing or failed. */
  readonly result: 'ok' | 'warn' | 'fail' | 'skip'
  readonly detail: string
  /** What to do about it; null where nothing is to be done. */
  readonly remedy: string | null
}

export const checkView: View<CheckRow> = {
  id: row => (row.result === 'fail' ? row.check : ''),
  keepsAll: true,
  columns: [
    field('check', { whole: true, rank: 1 }),
    field('result', { whole: true, rank: 2 }),
    field('detail', { whole: true, rank: 3 }),
    field('remedy'), // in tables there is no room for it: it is told below
  ],
}
