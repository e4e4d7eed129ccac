import type { Usage } from '../contract/index.ts'
import type { View } from '../output/index.ts'
import { field } from './field.ts'

/** What is used of a month's quota. */
export const usageView: View<Usage> = {
  id: row => row.month,
  columns: [
    field('month', { whole: true, rank: 1 }),
    field('used', { whole: true, rank: 2 }),
    field('limit', { whole: true, rank: 3 }),
    field('remaining', { whole: true, rank: 4 }),
    field('resets_at', { whole: true, rank: 5 }),
  ],
}
