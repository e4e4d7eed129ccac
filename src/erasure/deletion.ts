import type { ResponseInfo } from '../client/request.ts'
import type { Context } from '../context.ts'
import { consents } from '../contract/consents.ts'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import type { Consent, SubjectErased } from '../contract/index.ts'
import { parseInstant } from '../contract/instant.ts'
import { restore } from '../contract/restore.ts'
import { subjects as subjectEndpoints } from '../contract/subjects.ts'
import { CliError, exit } from '../errors/errors.ts'
import { exitOf, explain } from '../errors/explain.ts'
import { mapInOrder } from '../io/concurrency.ts'
import { choose } from '../receipts/sentence.ts'
import { type ErasureState, mayBeDeleted, type RunningJob, record } from './job.ts'
import { showsDeleted, type Target } from './records.ts'
import { type RecordSeen, recordSentences } from './sentences.ts'

export interface Deletion {
  readonly target: Target
  readonly record: ErasedRecord | null
  readonly error: unknown
}

/**
 * Deletes what is left of the plan until `isStopped`. Yields outcomes in batches. Does not throw for one record, because
 * the outcomes of the others must be reported. @throws CallError if a call for several records fails
 */
export function deleteRest(job: RunningJob, isStopped: () => boolean): AsyncGenerator<readonly Deletion[]> {
  return job.state.header.deletes_by === 'subject' ? deleteBySubject(job, isStopped) : deleteByRecord(job, isStopped)
}

/**
 * Lets the service mark the deleted records of identifiers without live ones, so that a restore has to say that it is despite
 * the erasure. An erasure of live ones marks the others itself. @throws CallError
 */
export async function markErased({ api }: Pick<Context, 'api'>, { header, targets }: ErasureState): Promise<void> {
  if (header.deletes_by !== 'subject' || !(await api.supports(restore))) return
  const isMarked = new Set([...targets.values()].map(({ subject }) => subject))
  for (const [subject, subject_id] of header.subjects.entries()) {
    if (isMarked.has(subject)) continue
    const body = { subject_id, ids: [], ticket: header.ticket }
    requireToldAsAsked(await api.call(subjectEndpoints.erase, { body, isIdempotent: true }), new Set())
  }
}

function restOf({ targets, done }: ErasureState): Target[] {
  return [...targets.values()].filter(({ id }) => !done.has(id))
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
      onResponse: each => {
        response = each
      },
      onLost: () => {
        mayBeOwn = true
      },
    })
    isAbsent = response?.status === 404 // the attempt before it was lost
  } catch (error) {
    isAbsent = exitOf(error) === exit.notFound
    if (!isAbsent) {
      await record(job, ['f', [id], explain(error).code, mayBeOwn])
      throw error
    }
  } finally {
    await recordClock(job, response)
  }
  let deleted_at: string | null = null
  if (isAbsent && mayBeOwn) deleted_at = await findDeletionTime(job, id)
  else if (!isAbsent && answered?.id === id) deleted_at = toInstant(answered.deleted_at)
  const answer = { target, isAbsent, deleted_at, mayBeOwn, requestId: response?.requestId ?? null }
  const outcome = toRecord(job.state, answer)
  await record(job, ['d', outcome])
  return outcome
}

interface RecordAnswer {
  readonly target: Target
  /** False if the instance says that it deleted the record. */
  readonly isAbsent: boolean
  /** By the instance's clock. */
  readonly deleted_at: string | null
  readonly mayBeOwn: boolean
  readonly requestId: string | null
}

function toRecord(state: ErasureState, answer: RecordAnswer): ErasedRecord {
  const { target, isAbsent, deleted_at, mayBeOwn, requestId } = answer
  // The service's own erasure names only what the call itself deleted; a deletion may be answered with an older one.
  const isCertain = !isAbsent && state.header.deletes_by === 'subject'
  const isOlder = deleted_at !== null && !isCertain && isBefore(state, deleted_at)
  const seen: RecordSeen = {
    answer: isAbsent ? 'absent' : 'deleted',
    deletedAt: deleted_at === null ? null : isOlder ? 'before' : 'since',
    mayBeOwn,
    isListed: false,
  }
  const result = choose(recordSentences, seen)
  const isOwn = result === 'deleted' && !isAbsent
  return {
    id: target.id,
    site_id: target.site_id,
    result,
    deleted_at: deleted_at ?? (isOwn ? new Date().toISOString() : null),
    request_id: isOwn ? requestId : null, // the request that found a record absent has deleted nothing
    deleted_at_by: deleted_at !== null ? 'service' : isOwn ? 'local' : null,
  }
}

/** Returns null if the instance does not show the time. */
async function findDeletionTime({ ctx: { api } }: RunningJob, id: string): Promise<string | null> {
  try {
    if (!(await showsDeleted(api, consents.get))) return null
    const found = await api.call(consents.get, { params: { id }, query: { include_deleted: true } })
    return toInstant(found.deleted_at)
  } catch (error) {
    if (exitOf(error) === exit.interrupted || exitOf(error) === exit.terminated) throw error
    return null
  }
}

/** Records of one call. An answer is one line of the journal, and its certificate one of the receipt's. */
const batchSize = 200

async function* deleteBySubject(job: RunningJob, isStopped: () => boolean): AsyncGenerator<readonly Deletion[]> {
  for (const subject of job.state.header.subjects.keys()) {
    const rest = restOf(job.state).filter(target => target.subject === subject)
    for (let start = 0; start < rest.length && !isStopped(); start += batchSize)
      yield* deleteBatch(job, subject, rest.slice(start, start + batchSize), isStopped)
  }
}

/** Calls the service until it has answered for each record, or cannot delete the rest. */
async function* deleteBatch(
  job: RunningJob,
  subject: number,
  batch: readonly Target[],
  isStopped: () => boolean,
): AsyncGenerator<readonly Deletion[]> {
  let pending = batch
  while (pending.length > 0 && !isStopped()) {
    const { deletions, isStuck } = await callErasure(job, subject, pending)
    yield deletions
    const told = new Set(deletions.map(({ target }) => target.id))
    pending = pending.filter(({ id }) => !told.has(id))
    if (!isStuck) continue
    const error = new CliError('not_deleted', exit.temporary, 'the service could not delete the record')
    yield pending.map(target => ({ target, record: null, error }))
    return
  }
}

interface CallOutcome {
  readonly deletions: readonly Deletion[]
  /** True if another call would delete no more. */
  readonly isStuck: boolean
}

async function callErasure(job: RunningJob, subject: number, batch: readonly Target[]): Promise<CallOutcome> {
  const { ctx, state } = job
  const { ticket, reason, subjects } = state.header
  const ids = batch.map(({ id }) => id)
  const sentBefore = new Set(ids.filter(id => mayBeDeleted(state, id)))
  let response: ResponseInfo | undefined
  let isLost = false
  await record(job, ['s', ids])
  let answer: SubjectErased
  try {
    answer = await ctx.api.call(subjectEndpoints.erase, {
      body: { subject_id: subjects[subject] ?? '', ids, ticket, ...(reason !== null && { reason }) },
      isIdempotent: true,
      onResponse: each => {
        response = each
      },
      onLost: () => {
        isLost = true
      },
    })
  } catch (error) {
    await record(job, ['f', ids, explain(error).code, isLost])
    throw error
  } finally {
    await recordClock(job, response)
  }
  const requestId = response?.requestId ?? null
  const told = requireToldAsAsked(answer, new Set(ids))
  const answers = batch.flatMap((target): RecordAnswer[] => {
    const erased = told.erased.get(target.id)
    const earlier = told.earlier.get(target.id)
    if (erased === undefined && earlier === undefined && !answer.complete) return []
    const mayBeOwn = isLost || sentBefore.has(target.id)
    const deleted_at = toInstant(erased ?? earlier ?? null)
    return [{ target, isAbsent: erased === undefined, deleted_at, mayBeOwn, requestId }]
  })
  const records = answers.map(each => toRecord(state, each))
  const known = new Set(records.map(({ id }) => id))
  const untold = ids.filter(id => !known.has(id))
  await record(job, ['a', { certificate: answer.certificate, isLost, records, untold }])
  const deletions = answers.map(({ target }, index) => ({
    target,
    record: records[index] ?? null,
    error: null,
  }))
  return { deletions, isStuck: answers.length === 0 }
}

/** @throws CliError unexpected_answer (exit 5) if the service names a record that it was not asked to delete */
function requireToldAsAsked({ records, already_deleted }: SubjectErased, asked: ReadonlySet<string>) {
  const stranger = [...records, ...already_deleted].find(({ id }) => !asked.has(id))
  if (stranger !== undefined)
    throw new CliError(
      'unexpected_answer',
      exit.rejected,
      `the service says that it deleted the record ${stranger.id}, which it was not asked to delete`,
      { hint: 'report this to the operator of the instance' },
    )
  return {
    erased: new Map(records.map(({ id, deleted_at }) => [id, deleted_at])),
    earlier: new Map(already_deleted.map(({ id, deleted_at }) => [id, deleted_at])),
  }
}

function toInstant(value: string | null): string | null {
  return value !== null && parseInstant(value) !== null ? value : null
}

/** Smallest difference between the clocks that is reported. */
const clockToleranceSeconds = 60

/** Returns true if an instant of the service is before the start of the job. */
function isBefore({ header, clockOffset }: ErasureState, instant: string): boolean {
  const localMs = (parseInstant(instant) ?? 0) + (clockOffset ?? 0) * 1000
  return localMs < Date.parse(header.started_at) - clockToleranceSeconds * 1000
}

/** Records the clock's offset once. A response's Date has whole seconds and is some time old. */
async function recordClock(job: RunningJob, response: ResponseInfo | undefined): Promise<void> {
  if (!response || response.at === null || job.state.clockOffset !== null) return
  const seconds = Math.round((Date.now() - response.at) / 1000)
  if (Math.abs(seconds) > clockToleranceSeconds) await record(job, ['c', seconds])
}
