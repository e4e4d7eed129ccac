import type { ResponseInfo } from '../client/request.ts'
import { consents } from '../contract/consents.ts'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import type { Consent } from '../contract/index.ts'
import { exit } from '../errors/errors.ts'
import { exitOf, explain } from '../errors/explain.ts'
import { mapInOrder } from '../io/concurrency.ts'
import { type Deletion, deleteBySubject } from './by-subject.ts'
import { type RunningJob, record } from './job.ts'
import { recordClock, toInstant, toRecord } from './outcome.ts'
import { showsDeleted, type Target } from './records.ts'
import { type ErasureRun, mayBeDeleted, restOf } from './state.ts'

/**
 * Continues after a failed record, because the outcomes of the others must be reported.
 * @throws CallError if a call for several records fails
 */
export function deleteRest(job: RunningJob, isStopped: () => boolean): AsyncGenerator<readonly Deletion[]> {
  return job.state.header.deletes_by === 'subject'
    ? deleteBySubject(toRun(job), isStopped)
    : deleteByRecord(job, isStopped)
}

function toRun(job: RunningJob): ErasureRun {
  const { ctx, state } = job
  return { api: ctx.api, state, record: event => record(job, event), codeOf: error => explain(error).code }
}

const concurrency = 8

async function* deleteByRecord(job: RunningJob, isStopped: () => boolean): AsyncGenerator<readonly Deletion[]> {
  async function* items() {
    for (const target of restOf(job.state)) {
      if (isStopped()) return
      yield target
    }
  }
  const run = async (target: Target): Promise<Deletion> => {
    try {
      return { target, record: await deleteOne(job, target), error: null }
    } catch (error) {
      return { target, record: null, error }
    }
  }
  for await (const outcome of mapInOrder(items(), { concurrency }, run)) yield [outcome]
}

async function deleteOne(job: RunningJob, target: Target): Promise<ErasedRecord> {
  const { api } = job.ctx
  const { id } = target
  let response: ResponseInfo | undefined
  let mayBeOwn = mayBeDeleted(job.state, id)
  await record(job, ['s', [id]])
  let answered: Consent | null = null
  let isAbsent = false
  try {
    answered = await api.call(consents.remove, {
      params: { id },
      checksId: true,
      onResponse: each => {
        response = each
      },
      onLost: () => {
        mayBeOwn = true
      },
    })
    isAbsent = response?.status === 404 // only a repeated call resolves with 404
  } catch (error) {
    isAbsent = exitOf(error) === exit.notFound
    if (!isAbsent) {
      await record(job, ['f', [id], explain(error).code, mayBeOwn])
      throw error
    }
  } finally {
    await recordClock(toRun(job), response)
  }
  let deleted_at: string | null = null
  if (isAbsent && mayBeOwn) deleted_at = await findDeletionTime(job, id)
  else if (!isAbsent && answered?.id === id) deleted_at = toInstant(answered.deleted_at)
  const answer = { target, isAbsent, deleted_at, mayBeOwn, requestId: response?.requestId ?? null }
  const outcome = toRecord(job.state, answer)
  await record(job, ['d', outcome])
  return outcome
}

async function findDeletionTime({ ctx: { api } }: RunningJob, id: string): Promise<string | null> {
  try {
    if (!(await showsDeleted(api, consents.get))) return null
    const found = await api.consents.get({ params: { id }, query: { include_deleted: true } })
    return toInstant(found.deleted_at)
  } catch (error) {
    if (exitOf(error) === exit.interrupted || exitOf(error) === exit.terminated) throw error
    return null
  }
}
