import type { ErasureReceipt, ErasureResult } from '../contract/documents/erasure-receipt.ts'
import type { TurnedOffRecord, WithdrawalReceipt } from '../contract/documents/withdrawal-receipt.ts'
import type { Consent } from '../contract/index.ts'
import type { View } from '../output/index.ts'
import { consentView } from './consent.ts'
import { field, minute, stateField } from './field.ts'

export interface FoundRow extends Consent {
  readonly state: 'live' | 'deleted'
  /** If several were searched. */
  readonly profile?: string
  /** `near`: resembles a given identifier. */
  readonly match?: 'exact' | 'near'
}

const state = stateField<FoundRow>('state', { rank: 2.5 })

const foundView: View<FoundRow> = {
  id: row => row.id,
  columns: [...consentView.columns, state] as View<FoundRow>['columns'],
}

export function foundViewWith({
  profile,
  match,
}: {
  readonly profile: boolean
  readonly match: boolean
}): View<FoundRow> {
  return {
    id: row => row.id,
    columns: [
      ...(profile ? [field<FoundRow>('profile', { whole: true, rank: 0 })] : []),
      ...foundView.columns,
      ...(match ? [field<FoundRow>('match', { whole: true, rank: 2.6 })] : []),
    ],
  }
}

export interface ErasureRow {
  readonly id: string
  readonly site_id: string | null
  /** `planned`: dry run. `failed`: not deleted, and in no receipt. */
  readonly result: ErasureResult | 'planned' | 'failed'
  readonly deleted_at: string | null
  readonly request_id: string | null
}

export const erasureView: View<ErasureRow> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('site_id', { whole: true, rank: 3 }),
    stateField('result', { rank: 2 }),
    field('deleted_at', { text: row => minute(row.deleted_at), whole: true, rank: 4 }),
    field('request_id'),
  ],
}

export interface WithdrawalRow extends Omit<TurnedOffRecord, 'result'> {
  /** `planned`: dry run. `failed`: not changed, and in no receipt. */
  readonly result: TurnedOffRecord['result'] | 'planned' | 'failed'
}

export const withdrawalView: View<WithdrawalRow> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('site_id', { whole: true, rank: 3 }),
    stateField('result', { rank: 2 }),
    field('purposes', { text: row => row.purposes.join(', '), rank: 2.5 }),
    field('accepted'),
    field('before', { rank: 6 }),
    field('version', { rank: 5 }),
    field('changed_at', { text: row => minute(row.changed_at), whole: true, rank: 4 }),
    field('request_id'),
  ],
}

export interface PurgeRow {
  readonly id: string
  readonly site_id: string | null
  readonly state: string
}

export const purgeView: View<PurgeRow> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('site_id', { whole: true, rank: 3 }),
    field('state', { whole: true, rank: 2 }),
  ],
}

export interface PersonRow {
  readonly ticket: string
  readonly records: number
  /** `planned`: dry run. `failed`: without a receipt. */
  readonly result: ErasureReceipt['result'] | WithdrawalReceipt['result'] | 'planned' | 'failed'
  readonly receipt: number | null
  readonly job: string | null
}

export const personView: View<PersonRow> = {
  id: row => row.ticket,
  columns: [
    field('ticket', { whole: true, rank: 1 }),
    field('records', { whole: true, rank: 2 }),
    field('result', { whole: true, rank: 3 }),
    field('receipt', { rank: 4 }),
    field('job', { rank: 5 }),
  ],
}

export interface ReceiptRow {
  readonly number: number
  readonly job: string
  readonly ticket: string
  readonly instance: string
  readonly finished_at: string
  readonly deleted: number
  readonly already_gone: number
  readonly remaining: number
  readonly result: string
  readonly profile: string
  readonly who: string
  readonly host: string
  readonly sha256: string
  /** True for one of the profile. */
  readonly local: boolean
  /** Null if the service does not say. */
  readonly kept: boolean | null
}

export const receiptView: View<ReceiptRow> = {
  id: row => (row.local ? String(row.number) : row.sha256),
  columns: [
    field('number', { whole: true, rank: 1 }),
    field('job', { whole: true, rank: 6 }),
    field('ticket', { rank: 2 }),
    field('instance', { rank: 5 }),
    field('finished_at', { text: row => minute(row.finished_at), whole: true, rank: 3 }),
    field('deleted', { rank: 3.5 }),
    field('already_gone', { title: 'gone', rank: 7 }),
    field('remaining', { rank: 3.6 }),
    stateField('result', { rank: 4 }),
    field('profile', { rank: 9 }),
    field('who', { rank: 4.5 }),
    field('host', { rank: 10 }),
    field('sha256', { text: row => row.sha256.slice(0, 12), whole: true, rank: 4.6 }),
    field('local', { rank: 11 }),
    field('kept', { rank: 4.7 }),
  ],
}
