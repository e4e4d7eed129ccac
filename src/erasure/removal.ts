import type { ResponseInfo } from '../client/request.ts'
import type { Context } from '../context.ts'
import { consents } from '../contract/consents.ts'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import type { Consent } from '../contract/index.ts'
import { parseInstant } from '../contract/values.ts'
import { exit } from '../errors/errors.ts'
import { exitOf, explain } from '../errors/explain.ts'
import { showsDeleted } from './found.ts'
import { isOpen, type Job, type Target } from './job.ts'
import { note, type OpenJob } from './open.ts'

/** What was heard of a deletion. */
interface Heard {
  /** The last answer. */
  answered?: ResponseInfo
  /** Whether it may have been carried out without anybody hearing of it. */
  isLost: boolean
}

type Became = Omit<ErasedRecord, 'id' | 'site_id'>

/** Deletes a record, and notes what became of it before that is returned; or that it failed, which is thrown. */
export async function removal(open: OpenJob, { id, site_id }: Target): Promise<ErasedRecord> {
  const heard: Heard = { isLost: isOpen(open.job, id) }
  await note(open, ['s', id])
  let left: Consent | null = null
  let isGone = false
  try {
    left = await send(open.ctx, id, heard)
    isGone = heard.answered?.status === 404 // the removal before it had no answer
  } catch (error) {
    isGone = exitOf(error) === exit.notFound
    if (!isGone) {
      await note(open, ['f', id, explain(error).code, heard.isLost])
      throw error
    }
  } finally {
    await noteClock(open, heard.answered)
  }
  const shown = left?.id === id ? left.deleted_at : null
  const became = isGone ? await gone(open, id, heard) : deleted(open.job, shown, heard)
  const record: ErasedRecord = { id, site_id, ...became }
  await note(open, ['d', record])
  return record
}

function send({ api }: Context, id: string, heard: Heard): Promise<Consent | null> {
  return api.call(consents.remove, {
    params: { id },
    onResponse: answer => {
      heard.answered = answer
    },
    onLost: () => {
      heard.isLost = true
    },
  })
}

/** What the service says that it deleted; what it shows to have been deleted before the job began was not the job's. */
function deleted(job: Job, shown: string | null, { answered }: Heard): Became {
  const deleted_at = shown !== null && parseInstant(shown) !== null ? shown : null
  if (deleted_at !== null && isBefore(job, deleted_at))
    return { result: 'already_gone', deleted_at, request_id: null }
  const request_id = answered?.requestId ?? null
  return { result: 'deleted', deleted_at: deleted_at ?? new Date().toISOString(), request_id }
}

/**
 * What is not there is gone by somebody else, or by a deletion of the job whose answer was lost: the service tells, if
 * it shows when a record was deleted. The request that found it gone has deleted nothing.
 */
async function gone(open: OpenJob, id: string, { isLost }: Heard): Promise<Became> {
  const at = isLost ? await whenDeleted(open.ctx, id) : null
  const isOwn = at !== null && !isBefore(open.job, at)
  const result = isOwn ? 'deleted' : isLost && at === null ? 'unknown' : 'already_gone'
  return { result, deleted_at: at, request_id: null }
}

/** When a record was deleted, where the instance shows deleted ones. */
async function whenDeleted({ api }: Context, id: string): Promise<string | null> {
  try {
    const query = { include_deleted: true }
    if (!(await showsDeleted({ api }, consents.get))) return null
    const { deleted_at } = await api.call(consents.get, { params: { id }, query })
    return deleted_at !== null && parseInstant(deleted_at) !== null ? deleted_at : null
  } catch (error) {
    if (exitOf(error) === exit.interrupted || exitOf(error) === exit.terminated) throw error
    return null
  }
}

/** Seconds that two clocks may differ without anybody being told. */
const tolerance = 60

/** Whether an instant of the service lies before the beginning of the job. */
function isBefore({ header, clockOffset }: Job, instant: string): boolean {
  const here = (parseInstant(instant) ?? 0) + (clockOffset ?? 0) * 1000
  return here < Date.parse(header.started_at) - tolerance * 1000
}

/** The Date of an answer has whole seconds, and came some time ago: what is less than a minute off says nothing. */
async function noteClock(open: OpenJob, answered: ResponseInfo | undefined): Promise<void> {
  if (!answered || answered.at === null || open.job.clockOffset !== null) return
  const seconds = Math.round((Date.now() - answered.at) / 1000)
  if (Math.abs(seconds) > tolerance) await note(open, ['c', seconds])
}
