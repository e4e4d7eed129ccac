import type { NoticeSubject } from '../contract/notice-subjects.ts'
import type { View } from '../output/index.ts'
import { field, minute } from './field.ts'

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
