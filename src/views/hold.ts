import type { Hold } from '../contract/holds.ts'
import type { View } from '../output/index.ts'
import { field, minute } from './field.ts'

export const holdView: View<Hold> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('held_until', { title: 'until', text: row => minute(row.held_until), whole: true, rank: 2 }),
    field('ticket', { rank: 3 }),
    field('reason', { rank: 4 }),
    field('subject_hmac', { title: 'hmac', rank: 6 }),
    field('created_at', { text: row => minute(row.created_at), rank: 5 }),
  ],
}
