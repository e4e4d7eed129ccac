import type { Answered } from '../client/transport.ts'
import type { Context } from '../context.ts'
import { consents } from '../contract/consents.ts'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import { exit } from '../errors/exit.ts'
import { exitOf, explain } from '../errors/explain.ts'
import { inOrder } from '../io/concurrency.ts'
import { apply, type EraseJournal, type Event, type Job, type Target } from './job.ts'

/** What became of a record; `error` says why it is not deleted. */
export interface Outcome {
  readonly target: Target
  readonly record: ErasedRecord | null
  readonly error: unknown
}

/** Requests that are under way at once. */
const concurrency = 8

/** A job and its journal: every event is on the disk before anything follows from it. */
export interface OpenJob {
  readonly ctx: Context
  readonly job: Job
  readonly journal: EraseJournal
}

export async function note({ job, journal }: Pick<OpenJob, 'job' | 'journal'>, event: Event): Promise<void> {
  await journal.write(event)
  apply(job, event)
}

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
  yield* inOrder(items(), concurrency, target => deleteOne(open, target))
}

/** Never rejects: others are under way, and what becomes of them must be told. */
async function deleteOne(open: OpenJob, target: Target): Promise<Outcome> {
  try {
    return { target, record: await removal(open, target), error: null }
  } catch (error) {
    return { target, record: null, error }
  }
}

async function removal(open: OpenJob, { id, site_id }: Target): Promise<ErasedRecord> {
  const { api } = open.ctx
  const wasSent = open.job.open.has(id)
  await note(open, ['s', id])
  let answered: Answered | undefined
  const onAnswer = (answer: Answered) => {
    answered = answer
  }
  const ended = async (result: ErasedRecord['result'], deleted_at: string | null) => {
    const record = { id, site_id, result, deleted_at, request_id: answered?.requestId ?? null }
    await note(open, ['d', record])
    return record
  }
  let left: { readonly deleted_at: string | null } | null
  try {
    left = await api.call(consents.remove, { params: { id }, onAnswer })
  } catch (error) {
    const { exit: code, code: name } = explain(error)
    if (code === exit.notFound)
      return wasSent
        ? await ended('deleted', await whenDeleted(open.ctx, id))
        : await ended('already_gone', null)
    await note(open, ['f', id, name])
    throw error
  } finally {
    await noteClock(open, answered)
  }
  return await ended('deleted', left?.deleted_at ?? new Date().toISOString())
}

/** When a record was deleted, where the instance shows deleted ones. */
async function whenDeleted({ api }: Context, id: string): Promise<string | null> {
  try {
    const query = { include_deleted: true }
    if (!(await api.offers(consents.get, { in: 'query', name: 'include_deleted' }))) return null
    return (await api.consents.get({ params: { id }, query })).deleted_at
  } catch (error) {
    if (exitOf(error) === exit.interrupted || exitOf(error) === exit.terminated) throw error
    return null
  }
}

/** Seconds that two clocks may differ without anybody being told. */
const tolerance = 60

/** The Date of an answer has whole seconds, and came some time ago: what is less than a minute off says nothing. */
async function noteClock(open: OpenJob, answered: Answered | undefined): Promise<void> {
  if (!answered || answered.at === null || open.job.clockOffset !== null) return
  const seconds = Math.round((Date.now() - answered.at) / 1000)
  if (Math.abs(seconds) > tolerance) await note(open, ['c', seconds])
}
