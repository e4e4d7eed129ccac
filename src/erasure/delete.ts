import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import { mapInOrder } from '../io/concurrency.ts'
import type { Target } from './job.ts'
import type { OpenJob } from './open.ts'
import { removal } from './removal.ts'

/** What became of a record; `error` says why it is not deleted. */
export interface Outcome {
  readonly target: Target
  readonly record: ErasedRecord | null
  readonly error: unknown
}

/** Requests that are under way at once. */
const concurrency = 8

/** Deletes what is left of the plan, and yields what becomes of each record in the plan's order, until `isStopped`. */
export async function* deleteAll(open: OpenJob, isStopped: () => boolean): AsyncGenerator<Outcome> {
  const { targets, done } = open.job
  const left = [...targets.values()].filter(({ id }) => !done.has(id))
  async function* items() {
    for (const target of left) {
      if (isStopped()) return
      yield target
    }
  }
  yield* mapInOrder(items(), { concurrency }, target => deleteOne(open, target))
}

/** Never rejects: others are under way, and what becomes of them must be told. */
async function deleteOne(open: OpenJob, target: Target): Promise<Outcome> {
  try {
    return { target, record: await removal(open, target), error: null }
  } catch (error) {
    return { target, record: null, error }
  }
}
