import type { DataSubjectRequest, RequestEntry } from '../contract/requests.ts'
import type { View } from '../output/index.ts'
import { field, minute } from './field.ts'

export interface RegisterRow extends DataSubjectRequest {
  readonly overdue: boolean
}

export const registerView: View<RegisterRow> = {
  id: row => row.ticket,
  columns: [
    field('ticket', { whole: true, rank: 1 }),
    field('kind', { whole: true, rank: 4 }),
    field('state', {
      text: row => (row.overdue ? 'overdue' : row.state),
      tone: row => (row.overdue ? 'bad' : row.state === 'extended' ? 'notable' : undefined),
      whole: true,
      rank: 2,
    }),
    field('received_on', { title: 'received', whole: true, rank: 6 }),
    field('due_on', { title: 'due', whole: true, rank: 3 }),
    field('assignee', { rank: 5 }),
    field('subject_ids', { title: 'subject', text: row => (row.subject_ids ?? []).join(' '), rank: 7 }),
    field('outcome', { rank: 8 }),
    field('overdue'),
    field('extension_reason'),
    field('extended_at'),
    field('outcome_reason'),
    field('closed_at', { title: 'closed', text: row => minute(row.closed_at), rank: 9 }),
    field('purge_due_on', { title: 'purge due', rank: 10 }),
    field('purged_on', { title: 'purged', rank: 11 }),
    field('held_until', { title: 'held', text: row => minute(row.held_until), rank: 13 }),
    field('sealed_proofs', { title: 'sealed', rank: 12 }),
    field('sealed_until'),
    field('receipts', { text: row => row.receipts.map(({ sha256 }) => sha256).join(' ') }),
    field('subject_hmacs', { aside: true }),
    field('id'),
    field('version'),
    field('created_at'),
    field('updated_at'),
  ],
}

export const requestEntryView: View<RequestEntry> = {
  id: row => String(row.version),
  columns: [
    field('version', { whole: true, rank: 1 }),
    field('action', { whole: true, rank: 2 }),
    field('created_at', { title: 'when', text: row => minute(row.created_at), whole: true, rank: 3 }),
    field('changed_by', { title: 'by', whole: true, rank: 4 }),
    field('actor_id', { whole: true, rank: 6 }),
    field('before', { rank: 7 }),
    field('after', { rank: 5 }),
  ],
}
