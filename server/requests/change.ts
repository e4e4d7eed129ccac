import { dueAfter, type Holidays, type RequestChange } from '../../src/contract/index.ts'
import { sameJson } from '../../src/evidence/canonical.ts'
import { Failure } from '../failure.ts'
import type { Audit, RequestState } from './queries.ts'

interface ChangeContext {
  readonly hmacs: string[] | undefined
  readonly at: Date
  readonly holidays: Holidays
}

type Changed = Pick<Audit, 'action' | 'before' | 'after'> & { readonly state: RequestState }

/**
 * Returns null if nothing changes.
 * @throws Failure `conflict` if the state does not allow it; `invalid_request` if the change is incomplete
 */
export function applyChange(row: RequestState, change: RequestChange, context: ChangeContext): Changed | null {
  requireWhole(change)
  const state: RequestState = { ...row }
  const isClosed = row.state === 'closed'
  correct(state, change, context)
  if (change.extension_reason !== undefined) extend(state, row, change.extension_reason, context)
  if (state.received_on !== row.received_on || state.extended_at !== row.extended_at)
    state.due_on = dueAfter(state.received_on, state.extended_at ? 3 : 1, context.holidays)
  if (change.outcome !== undefined) close(state, row, change, context)
  const { receipts: _, ...others } = diff(row, state).after
  if (isClosed && Object.keys(others).length > 0) throw new Failure('conflict', 'The request is closed.')
  addReceipt(state, change, context)
  const values = diff(row, state)
  if (Object.keys(values.after).length === 0) return null
  const isExtended = row.extended_at === null && state.extended_at !== null
  return { state, action: state.outcome !== row.outcome ? 'closed' : isExtended ? 'extended' : 'updated', ...values }
}

function requireWhole({ outcome, outcome_reason }: RequestChange): void {
  if (outcome === 'refused' && outcome_reason === undefined)
    throw new Failure('invalid_request', 'outcome_reason: required if a request is refused')
  if (outcome === undefined && outcome_reason !== undefined)
    throw new Failure('invalid_request', 'outcome_reason: requires an outcome')
}

function correct(state: RequestState, change: RequestChange, { hmacs }: ChangeContext): void {
  const { kind, received_on, assignee, subject_ids } = change
  if (kind !== undefined) state.kind = kind
  if (received_on !== undefined) state.received_on = received_on
  if (assignee !== undefined) state.assignee = assignee
  if (hmacs === undefined) return
  state.subject_hmacs = hmacs
  if (state.state !== 'closed') state.subject_ids = subject_ids ?? null
}

/** Within one month of receipt and only once (GDPR Art. 12(3)). */
function extend(state: RequestState, row: RequestState, reason: string, { at, holidays }: ChangeContext): void {
  if (row.extension_reason === reason) return
  if (row.extended_at !== null)
    throw new Failure('conflict', 'The period was already extended, and can be extended only once.')
  const first = dueAfter(state.received_on, 1, holidays)
  if (at.toISOString().slice(0, 10) > first)
    throw new Failure('conflict', `The period could be extended until ${first} (GDPR Art. 12(3)), which has passed.`)
  Object.assign(state, { state: 'extended', extension_reason: reason, extended_at: at })
}

function close(state: RequestState, row: RequestState, change: RequestChange, { at }: ChangeContext): void {
  const { outcome = null, outcome_reason = null } = change
  Object.assign(state, { outcome, outcome_reason })
  if (row.state !== 'closed') Object.assign(state, { state: 'closed', subject_ids: null, closed_at: at })
}

function addReceipt(state: RequestState, { receipt }: RequestChange, { at }: ChangeContext): void {
  if (!receipt || state.receipts.some(({ sha256 }) => sha256 === receipt.sha256)) return
  state.receipts = [...state.receipts, { ...receipt, added_at: at.toISOString() }]
}

export type Values = Record<string, unknown>

/** Identifiers become HMACs. */
export function diff(before: RequestState | null, after: RequestState) {
  const changes: { before: Values; after: Values } = { before: {}, after: {} }
  for (const name of fields) {
    const values = [before?.[name] ?? null, after[name]].map(toValue)
    if (sameJson(values[0], values[1])) continue
    changes.before[name] = values[0]
    changes.after[name] = values[1]
  }
  return changes
}

const fields = [
  'kind',
  'state',
  'received_on',
  'due_on',
  'subject_hmacs',
  'assignee',
  'extension_reason',
  'extended_at',
  'outcome',
  'outcome_reason',
  'closed_at',
  'receipts',
] as const satisfies readonly (keyof RequestState)[]

function toValue(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value
}
