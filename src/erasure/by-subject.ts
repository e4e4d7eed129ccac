import type { Client } from '../client/client.ts'
import type { ResponseInfo } from '../client/request.ts'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import type { SubjectErased, SubjectErasure } from '../contract/index.ts'
import { restore } from '../contract/restore.ts'
import { subjects as subjectEndpoints } from '../contract/subjects.ts'
import { CliError, exit } from '../errors/errors.ts'
import { type RecordAnswer, recordClock, toInstant, toRecord } from './outcome.ts'
import type { Target } from './records.ts'
import { type ErasureRun, type ErasureState, mayBeDeleted, restOf } from './state.ts'

export interface Deletion {
  readonly target: Target
  readonly record: ErasedRecord | null
  readonly error: unknown
}

/** Per call: one journal line, one certificate. */
const batchSize = 200

/** @throws CallError */
export async function* deleteBySubject(run: ErasureRun, isStopped: () => boolean): AsyncGenerator<readonly Deletion[]> {
  for (const subject of run.state.header.subjects.keys()) {
    const rest = restOf(run.state).filter(target => target.subject === subject)
    for (let start = 0; start < rest.length && !isStopped(); start += batchSize)
      yield* deleteBatch(run, subject, rest.slice(start, start + batchSize), isStopped)
  }
}

async function* deleteBatch(
  run: ErasureRun,
  subject: number,
  batch: readonly Target[],
  isStopped: () => boolean,
): AsyncGenerator<readonly Deletion[]> {
  let pending = batch
  while (pending.length > 0 && !isStopped()) {
    const { deletions, isStuck } = await callErasure(run, subject, pending)
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
  readonly isStuck: boolean
}

async function callErasure(run: ErasureRun, subject: number, batch: readonly Target[]): Promise<CallOutcome> {
  const { api, state, record } = run
  const { ticket, reason, subjects } = state.header
  const ids = batch.map(({ id }) => id)
  const sentBefore = new Set(ids.filter(id => mayBeDeleted(state, id)))
  let response: ResponseInfo | undefined
  let isLost = false
  await record(['s', ids])
  let answer: SubjectErased
  try {
    answer = await api.call(subjectEndpoints.erase, {
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
    await record(['f', ids, run.codeOf(error), isLost])
    throw error
  } finally {
    await recordClock(run, response)
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
  const { certificate, complete, unverified } = answer
  await record(['a', { certificate, isLost, isComplete: complete, records, untold, unverified }])
  const deletions = answers.map(({ target }, index) => ({
    target,
    record: records[index] ?? null,
    error: null,
  }))
  return { deletions, isStuck: answers.length === 0 && answer.marked === 0 }
}

/** @throws CliError unexpected_answer (exit 5) if the service names another record */
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

/** True if the service marks identifiers without live records as erased. */
export async function marksErased(
  api: Pick<Client, 'supports'>,
  deletes_by: ErasureState['header']['deletes_by'],
): Promise<boolean> {
  return deletes_by === 'subject' && (await api.supports(restore))
}

type OnAnswer = (certificate: string | null, isLost: boolean) => void

/**
 * Marks the deleted records as erased, so that a restore needs confirmation. Skipped if an erasure of live records has
 * marked them. @throws CallError
 * @throws CliError not_marked (exit 7) if the service marks no more, though some are left
 */
export async function markErased(
  api: Pick<Client, 'call' | 'supports'>,
  { header, marked }: Pick<ErasureState, 'header' | 'marked'>,
  onAnswer: OnAnswer = () => {},
): Promise<void> {
  if (!(await marksErased(api, header.deletes_by))) return
  for (const [subject, subject_id] of header.subjects.entries()) {
    let isComplete = marked.has(subject)
    while (!isComplete) isComplete = await markSome(api, { subject_id, ids: [], ticket: header.ticket }, onAnswer)
  }
}

async function markSome(api: Pick<Client, 'call'>, body: SubjectErasure, onAnswer: OnAnswer): Promise<boolean> {
  let certificate: string | null = null
  let isLost = false
  const onLost = () => {
    isLost = true
  }
  try {
    const answer = await api.call(subjectEndpoints.erase, { body, isIdempotent: true, onLost })
    certificate = answer.certificate
    requireToldAsAsked(answer, new Set())
    if (answer.complete || answer.marked > 0) return answer.complete
  } finally {
    onAnswer(certificate, isLost)
  }
  throw new CliError('not_marked', exit.temporary, 'the service could not mark all deleted records as erased')
}
