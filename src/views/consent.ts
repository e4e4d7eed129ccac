import type { AuditEntry, Consent } from '../contract/index.ts'
import type { View } from '../output/index.ts'
import { field, minute, second } from './field.ts'

/** Some instances return only the id of a deleted record. */
export type ConsentRow = { readonly [Name in keyof Consent]?: Consent[Name] | null } & Pick<Consent, 'id'>

function yesNo(value: boolean | null | undefined): string {
  return value === null || value === undefined ? '' : value ? 'yes' : 'no'
}

export const consentView: View<ConsentRow> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('site_id', { whole: true, rank: 7 }),
    field('consent_id', { rank: 5 }),
    field('subject_id', { rank: 2 }),
    field('country', { rank: 9 }),
    field('region'),
    field('user_agent'),
    field('accepted', { text: row => yesNo(row.accepted), rank: 3 }),
    field('preferences', { rank: 8 }),
    field('policy_version', { title: 'policy', rank: 6 }),
    field('created_at', { text: row => minute(row.created_at), whole: true, rank: 4 }),
    field('updated_at'),
    field('deleted_at'),
  ],
}

/** Shows `deleted_at` in tables too. */
export const consentViewWithDeleted: View<ConsentRow> = {
  ...consentView,
  columns: consentView.columns.map(column =>
    column.name === 'deleted_at' ? { ...column, text: row => minute(row.deleted_at), whole: true, rank: 2.5 } : column,
  ),
}

export const auditView: View<AuditEntry> = {
  id: row => row.id,
  columns: [
    field('id'),
    field('consent_id', { whole: true, rank: 8 }),
    field('action', { text: row => row.action ?? '', rank: 2 }),
    field('accepted', { text: row => yesNo(row.accepted), rank: 3 }),
    field('preferences', { rank: 4 }),
    field('policy_version', { title: 'policy', rank: 5 }),
    field('changed_by', { rank: 6 }),
    field('actor_id'),
    field('created_at', { text: row => second(row.created_at), whole: true, rank: 1 }),
    field('version'),
    field('salt'),
    field('record_hash'),
    field('payload_hash'),
    field('hash'),
  ],
}

export interface LineResult {
  readonly line: number
  /** `unknown`: the response was lost, so the record may exist or not. */
  readonly result: 'created' | 'failed' | 'unknown'
  readonly id: string | null
  readonly error_code: string | null
}

export const importView: View<LineResult> = {
  id: row => row.id ?? '',
  columns: [
    field('line', { rank: 1 }),
    field('result', { whole: true, rank: 2 }),
    field('id', { whole: true, rank: 3 }),
    field('error_code', { rank: 4 }),
  ],
}
