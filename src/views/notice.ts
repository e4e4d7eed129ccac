import type { NoticeSubject } from '../contract/notice-subjects.ts'
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

export const noticeSubjectView: View<NoticeSubject> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 5 }),
    field('subject_id', { rank: 1 }),
    field('site_id'),
    field('policy_version', { title: 'policy', rank: 4 }),
    field('notice_held', { title: 'held', text: row => (row.notice_held ? 'yes' : 'no'), rank: 6 }),
    field('notice_locale', { title: 'locale', rank: 3 }),
    field('created_at'),
    field('updated_at', { title: 'stated', text: row => minute(row.updated_at), whole: true, rank: 2 }),
    field('expires_at', { title: 'expires', text: row => minute(row.expires_at), whole: true, rank: 7 }),
    field('given_at', { title: 'given', text: row => minute(row.given_at), whole: true, rank: 8 }),
  ],
}
