import type { RowOutcome } from '../../src/contract/index.ts'
import type { Failure } from '../failure.ts'
import { bodyOf, statusOf } from '../http/failures.ts'
import type { Creation } from './rows.ts'

/** What became of a row of a batch. */
export interface Outcome {
  readonly status: number
  /** The JSON of its RowOutcome. */
  readonly text: string
}

/** A record that was made, or a first answer again. */
export function creationOf({ shown, isReplayed }: Creation): Outcome {
  return { status: 201, text: `{"status":201,"consent":${shown},"replayed":${isReplayed}}` }
}

/** A failure as the outcome of one row. */
export function refusalOf(failure: Failure): Outcome {
  const seconds = failure.headers['retry-after']
  const status = statusOf(failure)
  const outcome: RowOutcome = {
    status,
    error: bodyOf(failure),
    retry_after: seconds === undefined ? null : Number(seconds),
  }
  return { status, text: JSON.stringify(outcome) }
}
