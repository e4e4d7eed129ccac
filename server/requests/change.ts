import { dueAfter, type Holidays, type RequestChange } from '../../src/contract/index.ts'
import { sameJson } from '../../src/evidence/canonical.ts'
import { Failure } from '../failure.ts'
import type { RequestAction, RequestState } from './queries.ts'

interface ChangeContext {
  readonly hmacs: string[] | undefined
  readonly at: Date
  readonly holidays: Holidays
  /** When the purge of the person's records is due, for a close. */
  readonly due: PurgeDue
}

/** Days; null if not known, or not so. */
export interface PurgeDue {
  readonly purge_due_on: string | null
  readonly purged_on: string | null
}

interface Changed {
  readonly state: RequestState
  readonly action: RequestAction
}

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
  if (isClosed && differs(row, state)) throw new Failure('conflict', 'The request is closed.')
  addReceipt(state, change, context)
  if (change.purged && state.kind === 'erasure') state.purged_on ??= context.at.toISOString().slice(0, 10)
  if (!differs(row, state)) return null
  if (state.outcome !== row.outcome) return { state, action: 'request_closed' }
  const isExtended = row.extended_at === null && state.extended_at !== null
  return { state, action: isExtended ? 'request_extended' : 'request_updated' }
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

function close(state: RequestState, row: RequestState, change: RequestChange, { at, due }: ChangeContext): void {
  const { outcome = null, outcome_reason = null } = change
  Object.assign(state, { outcome, outcome_reason })
  if (row.state === 'closed') return
  const isErased = state.kind === 'erasure' && outcome === 'done'
  Object.assign(state, { state: 'closed', subject_ids: null, closed_at: at, ...(isErased && due) })
}

function addReceipt(state: RequestState, { receipt }: RequestChange, { at }: ChangeContext): void {
  if (!receipt || state.receipts.some(({ sha256 }) => sha256 === receipt.sha256)) return
  state.receipts = [...state.receipts, { ...receipt, added_at: at.toISOString() }]
}

/** Identifiers are compared by their HMACs, which a closed request keeps. */
function differs(before: RequestState, after: RequestState): boolean {
  return fields.some(name => !sameJson(toValue(before[name]), toValue(after[name])))
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
  'purge_due_on',
  'purged_on',
  'receipts',
] as const satisfies readonly (keyof RequestState)[]

function toValue(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value
}
