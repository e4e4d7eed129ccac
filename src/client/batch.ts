import type * as z from 'zod'
import { type BatchRow, createBatch, idsOf, type RowRefused } from '../contract/batch.ts'
import type { Endpoint, ImportRow } from '../contract/index.ts'
import { ApiError, type Call, type CallError, isCallError } from './errors.ts'
import { type Input, jsonType, type ResponseInfo } from './request.ts'
import { type Backoff, backoffSeconds } from './retry.ts'

/** `error` is that of a single create. */
export type RowResult = RowDone | { readonly id: null; readonly error: CallError }

interface RowDone {
  readonly id: string
  readonly error: null
  /** True if the record existed before. */
  readonly replayed: boolean
  /** True if an earlier attempt may have created it. */
  readonly maybeOwn: boolean
}

/** Object or JSON: serializing millions of rows would take most of the time. */
export type Row = BatchRow | z.input<typeof ImportRow> | Uint8Array

interface BatchOptions extends Backoff {
  readonly send: (endpoint: Endpoint, input: Input) => Promise<unknown>
  /** Create of a single record; provides the errors of rows. */
  readonly call: Call
  /** Fields shared by all rows, such as `{"site_id":"…",`. Replaces the opening brace of each JSON row. */
  readonly common?: Uint8Array | undefined
}

interface RowState {
  readonly row: Row
  /** First error after which the row may have been created. */
  lost: CallError | undefined
  id: string | null
  replayed: boolean
  error: CallError | null
}

/**
 * Retries rows with temporary errors; their keys make that safe.
 *
 * @throws the error of the first request if it fails as a whole
 */
export async function createRows(options: BatchOptions, rows: readonly Row[]): Promise<RowResult[]> {
  const states = rows.map((row): RowState => ({ row, lost: undefined, id: null, replayed: false, error: null }))
  await sendRows(options, states)
  let pending = await waitForRetry(options, states, 1)
  for (let attempt = 2; pending.length > 0; attempt += 1) {
    try {
      await sendRows(options, pending)
    } catch (error) {
      if (isCallError(error)) for (const state of pending) state.error = error
      break
    }
    pending = await waitForRetry(options, pending, attempt)
  }
  return states.map(toResult)
}

function toResult({ id, error, lost, replayed }: RowState): RowResult {
  if (id === null) return { id, error: lost ?? (error as CallError) }
  return { id, error: null, replayed, maybeOwn: lost !== undefined }
}

async function waitForRetry(
  { maxWait, deadline, pause, onWait }: BatchOptions,
  states: readonly RowState[],
  attempt: number,
): Promise<readonly RowState[]> {
  const waits = states.map(({ error }) => error && backoffSeconds(error, attempt, maxWait, deadline))
  const pending = states.filter((_, index) => waits[index] !== null)
  const [first] = pending
  if (!first?.error) return []
  const seconds = Math.max(...waits.map(wait => wait ?? 0))
  onWait(first.lost ?? first.error, seconds, attempt + 1)
  return await pause(seconds).then(
    () => pending,
    () => [],
  )
}

type Outcome = { readonly consent: { readonly id: string }; readonly replayed?: boolean } | RowRefused

async function sendRows({ send, call, common }: BatchOptions, states: readonly RowState[]): Promise<void> {
  let info: ResponseInfo | undefined
  let lost: CallError | undefined
  const response = idsOf(states.length)
  const body = await send({ ...createBatch, response } as Endpoint, {
    ...inputOf(
      states.map(({ row }) => row),
      common,
    ),
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
      state.replayed = outcome.replayed === true
      state.error = null
      continue
    }
    const { status, retry_after: retryAfter } = outcome
    const head = { status, requestId: info?.requestId ?? null, retryAfter, location: null }
    const error = new ApiError(call, head, outcome.error)
    if (error.maybeDone) state.lost ??= error
    state.error = error
  }
}

function inputOf(rows: readonly Row[], common: Uint8Array = brace): Pick<Input, 'body' | 'upload'> {
  const parts: Uint8Array[] = []
  for (const row of rows) {
    if (!(row instanceof Uint8Array)) return { body: { records: rows } }
    parts.push(parts.length === 0 ? start : comma, common, row.subarray(1))
  }
  return { upload: { bytes: Buffer.concat([...parts, end]), type: jsonType } }
}

const [start, comma, end, brace] = ['{"records":[', ',', ']}', '{'].map(text => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
]
