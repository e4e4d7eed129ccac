import type { Input, ResponseInfo } from '../client/request.ts'
import type { CliError } from '../errors/errors.ts'
import { mapInOrder } from '../io/concurrency.ts'
import type { Target } from './records.ts'
import {
  type Call,
  type CallAnswer,
  type ErasureOrder,
  type ErasureRun,
  type ErasureState,
  mayBeDone,
  recordClock,
  restOf,
} from './state.ts'

interface Identified {
  readonly id: string
}

export interface Processed<Done> {
  readonly target: Target
  readonly record: Done | null
  readonly error: unknown
}

/** A request that deletes or changes records of a subject. */
export interface TargetCall<Seen extends { readonly target: Target }, Done extends Identified> {
  /** Records per call. */
  readonly batchSize: number
  readonly concurrency: number
  /** If a call for several records fails, the others would too. */
  readonly isBatch: boolean
  readonly stuckError: () => CliError
  send(run: ErasureRun<Done>, batch: readonly Target[], watch: Watch): Promise<Answer<Seen>>
  toDone(state: ErasureState<ErasureOrder, Done>, seen: Seen, call: Call): Done
}

export interface Watch extends Pick<Input, 'onResponse' | 'onLost'> {
  /** True if an earlier attempt may have been carried out for the record. */
  mayBeOwn(id: string): boolean
}

interface Answer<Seen> extends Pick<CallAnswer, 'certificate' | 'isComplete' | 'unverified'> {
  readonly records: readonly Seen[]
  /** True if a repeated call would not affect the other records either. */
  readonly isStuck: boolean
}

/**
 * Sends the targets without an outcome. Continues after a record that fails, because the outcomes of the others must be
 * reported. @throws CallError if a call for several records fails
 */
export async function* processRest<Seen extends { readonly target: Target }, Done extends Identified>(
  run: ErasureRun<Done>,
  call: TargetCall<Seen, Done>,
  isStopped: () => boolean,
): AsyncGenerator<readonly Processed<Done>[]> {
  const queues = run.state.order.subjects.map((): Target[] => [])
  for (const target of restOf(run.state)) queues[target.subject]?.push(target)
  async function* batches() {
    for (const queue of queues)
      while (queue.length > 0 && !isStopped()) yield { queue, batch: queue.splice(0, call.batchSize) }
  }
  yield* mapInOrder(batches(), call, async ({ queue, batch }) => {
    const { processed, untold } = await processBatch(run, call, batch)
    queue.unshift(...untold)
    return processed
  })
}

/** Returns as `untold` the targets that must be resent. */
async function processBatch<Seen extends { readonly target: Target }, Done extends Identified>(
  run: ErasureRun<Done>,
  { isBatch, send, toDone, stuckError }: TargetCall<Seen, Done>,
  batch: readonly Target[],
): Promise<{ readonly processed: readonly Processed<Done>[]; readonly untold: readonly Target[] }> {
  const { state, record } = run
  const ids = batch.map(({ id }) => id)
  const sentBefore = new Set(ids.filter(id => mayBeDone(state, id)))
  const toFailed = (targets: readonly Target[], error: unknown) =>
    targets.map(target => ({ target, record: null, error }))
  let response: ResponseInfo | undefined
  let isLost = false
  const mayBeOwn = (id: string) => isLost || sentBefore.has(id)
  await record(['s', ids, isBatch])
  let answer: Answer<Seen>
  try {
    answer = await send(run, batch, {
      mayBeOwn,
      onResponse: each => {
        response = each
      },
      onLost: () => {
        isLost = true
      },
    })
  } catch (error) {
    await record(['f', ids, isLost, isBatch])
    if (isBatch) throw error
    return { processed: toFailed(batch, error), untold: [] }
  } finally {
    await recordClock(run, response)
  }
  const requestId = response?.requestId ?? null
  const { certificate, isComplete, unverified, isStuck } = answer
  const processed = answer.records.map(each => {
    const call = { mayBeOwn: mayBeOwn(each.target.id), requestId, isBatch }
    return { target: each.target, record: toDone(state, each, call), error: null }
  })
  const told = new Set(processed.map(({ target }) => target))
  const untold = batch.filter(target => !told.has(target))
  const records = processed.map(each => each.record)
  const untoldIds = untold.map(({ id }) => id)
  await record(['a', { certificate, isLost, isComplete, records, untold: untoldIds, unverified }, isBatch])
  if (!isStuck) return { processed, untold }
  const error = stuckError()
  return { processed: [...processed, ...toFailed(untold, error)], untold: [] }
}
