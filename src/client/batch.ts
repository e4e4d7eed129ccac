import { type BatchRow, createBatch, idsOf, type RowRefused } from '../contract/batch.ts'
import type { Endpoint } from '../contract/index.ts'
import { ApiError, type Call, type CallError, isCallError } from './errors.ts'
import { attempts, waitAfter } from './retry.ts'
import type { Answered, Input } from './transport.ts'

/** What became of one row: its record's id, or what its own create would have thrown. */
export type RowAnswer =
  | { readonly id: string; readonly error: null }
  | { readonly id: null; readonly error: CallError }

/** How rows are sent. */
export interface Sending {
  readonly send: (endpoint: Endpoint, input: Input) => Promise<unknown>
  /** A create of one record, as an error of a row names it. */
  readonly call: Call
  /** Seconds: an instance that asks for a longer wait is not waited for. */
  readonly maxWait: number
  readonly pause: (seconds: number) => Promise<void>
  readonly onWait: (error: CallError, seconds: number, next: number) => void
}

/**
 * Creates the records of rows with one request, and sends those again that are refused for the moment. Each row has a key,
 * so that it happens once however often it is sent. Throws where the first request has no answer, or is refused whole.
 */
export async function sendRows(sending: Sending, rows: readonly BatchRow[]): Promise<RowAnswer[]> {
  const answers: RowAnswer[] = []
  const lost: CallError[] = []
  let left = rows.map((_, index) => index)
  for (let attempt = 1; ; attempt += 1) {
    const sent = await sendOnce(
      sending,
      left.map(index => rows[index] as BatchRow),
    ).catch(error => {
      if (attempt === 1) throw error
      if (isCallError(error)) for (const index of left) answers[index] = failed(lost[index] ?? error)
      return null
    })
    if (!sent) return answers
    const again: number[] = []
    let wait = 0
    for (const [at, index] of left.entries()) {
      if (sent.lost) lost[index] ??= sent.lost
      const outcome = sent.outcomes[at] as Outcome
      if ('consent' in outcome) {
        answers[index] = { id: outcome.consent.id, error: null }
        continue
      }
      const error = errorOf(sending.call, outcome, sent.requestId)
      if (error.maybeDone) lost[index] ??= error
      answers[index] = failed(lost[index] ?? error)
      const seconds = attempt < attempts ? waitAfter(error, attempt, sending.maxWait) : null
      if (seconds === null) continue
      again.push(index)
      wait = Math.max(wait, seconds)
    }
    if (again.length === 0) return answers
    sending.onWait((answers[again[0] as number] as { error: CallError }).error, wait, attempt + 1)
    const isOver = await sending.pause(wait).then(
      () => false,
      () => true, // told to stop: what is known is told
    )
    if (isOver) return answers
    left = again
  }
}

type Outcome = { readonly consent: { readonly id: string } } | RowRefused

interface Sent {
  readonly outcomes: readonly Outcome[]
  readonly requestId: string | null
  /** What was first said of an attempt that may have been carried out without an answer. */
  readonly lost: CallError | undefined
}

async function sendOnce({ send }: Sending, records: readonly BatchRow[]): Promise<Sent> {
  let answered: Answered | undefined
  let lost: CallError | undefined
  const response = idsOf(records.length)
  const body = await send({ ...createBatch, response } as Endpoint, {
    body: { records },
    prefer: 'return=minimal',
    isRepeatable: true,
    onAnswer: answer => {
      answered = answer
    },
    onLost: error => {
      lost ??= error
    },
  })
  const { results } = body as { results: readonly Outcome[] }
  return { outcomes: results, requestId: answered?.requestId ?? null, lost }
}

function failed(error: CallError): RowAnswer {
  return { id: null, error }
}

function errorOf(call: Call, { status, error, retry_after }: RowRefused, requestId: string | null): ApiError {
  return new ApiError(call, { status, requestId, retryAfter: retry_after, location: null }, error)
}
