import { type BatchRow, createBatch, idsOf, type RowRefused } from '../contract/batch.ts'
import type { Endpoint } from '../contract/index.ts'
import { ApiError, type Call, type CallError, isCallError } from './errors.ts'
import type { Input, ResponseInfo } from './request.ts'
import { type Backoff, backoffSeconds } from './retry.ts'

/** The outcome of one row: its record's id, or the error that its own create would have had. */
export type RowResult =
  | { readonly id: string; readonly error: null }
  | { readonly id: null; readonly error: CallError }

export interface BatchOptions extends Backoff {
  readonly send: (endpoint: Endpoint, input: Input) => Promise<unknown>
  /** A create of one record, for the errors of rows. */
  readonly call: Call
}

interface RowState {
  readonly row: BatchRow
  /** The first error after which the row may have been created: later ones say nothing about that attempt. */
  lost: CallError | undefined
  id: string | null
  /** The error of the latest attempt. */
  error: CallError | null
}

/**
 * Creates the records of rows with one request, and retries rows that failed for the moment. Each row has a key, so it
 * happens once however often it is sent.
 *
 * @throws the error of the first request, if that fails as a whole.
 */
export async function createRows(options: BatchOptions, rows: readonly BatchRow[]): Promise<RowResult[]> {
  const { maxWait, pause, onWait } = options
  const states = rows.map((row): RowState => ({ row, lost: undefined, id: null, error: null }))
  let pending = states
  for (let attempt = 1; ; attempt += 1) {
    try {
      await sendRows(options, pending)
    } catch (error) {
      if (attempt === 1) throw error
      if (isCallError(error)) for (const state of pending) state.error = error
      break
    }
    const waits = new Map<RowState, number>()
    for (const state of pending) {
      const seconds = state.error && backoffSeconds(state.error, attempt, maxWait)
      if (seconds !== null) waits.set(state, seconds)
    }
    pending = [...waits.keys()]
    const [first] = pending
    if (!first?.error) break
    const seconds = Math.max(...waits.values())
    onWait(first.lost ?? first.error, seconds, attempt + 1)
    const isInterrupted = await pause(seconds).then(
      () => false,
      () => true,
    )
    if (isInterrupted) break
  }
  return states.map(
    ({ id, error, lost }) => ({ id, error: id === null ? (lost ?? error) : null }) as RowResult,
  )
}

type Outcome = { readonly consent: { readonly id: string } } | RowRefused

/** Sends rows once, and notes the outcome of each. */
async function sendRows({ send, call }: BatchOptions, states: readonly RowState[]): Promise<void> {
  let info: ResponseInfo | undefined
  let lost: CallError | undefined
  const response = idsOf(states.length)
  const body = await send({ ...createBatch, response } as Endpoint, {
    body: { records: states.map(({ row }) => row) },
    prefer: 'return=minimal',
    isIdempotent: true,
    onResponse: each => {
      info = each
    },
    onLost: error => {
      lost ??= error
    },
  })
  const { results } = body as { results: readonly Outcome[] }
  for (const [index, state] of states.entries()) {
    const outcome = results[index] as Outcome
    state.lost ??= lost
    if ('consent' in outcome) {
      state.id = outcome.consent.id
      state.error = null
      continue
    }
    const error = rowError(call, outcome, info?.requestId ?? null)
    if (error.maybeDone) state.lost ??= error
    state.error = error
  }
}

function rowError(
  call: Call,
  { status, error, retry_after }: RowRefused,
  requestId: string | null,
): ApiError {
  return new ApiError(call, { status, requestId, retryAfter: retry_after, location: null }, error)
}
