import type { Notice } from '../contract/notices.ts'
import type { View } from '../output/index.ts'
import { field, minute, stateField } from './field.ts'

export const noticeView: View<Notice> = {
  id: row => String(row.policy_version),
  columns: [
    field('policy_version', { title: 'version', whole: true, rank: 1 }),
    stateField('state', { rank: 2 }),
    field('texts', { text: row => row.texts.map(({ language }) => language).join(' '), rank: 3 }),
    field('purposes', { text: row => [...new Set(row.purposes.map(({ key }) => key))].join(' '), rank: 5 }),
    field('valid_for', { title: 'valid', rank: 6 }),
    field('requires_renewal', { title: 'renewal', rank: 7 }),
    field('effective_from', { title: 'from', text: row => minute(row.effective_from), rank: 8 }),
    field('published_at', { title: 'published', text: row => minute(row.published_at), rank: 4 }),
    field('controller', { rank: 9 }),
    field('revision'),
    field('created_at'),
    field('updated_at'),
    field('published_entry'),
    field('leaf_index'),
    field('site_id'),
  ],
}
