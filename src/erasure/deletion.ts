import type { Client } from '../client/client.ts'
import { consents } from '../contract/consents.ts'
import type { ErasedRecord, ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import type { HoldNotice, SubjectErased, SubjectErasure } from '../contract/index.ts'
import { restore } from '../contract/restore.ts'
import { subjects as subjectEndpoints } from '../contract/subjects.ts'
import { CliError, exit } from '../errors/errors.ts'
import { exitOf } from '../errors/explain.ts'
import { findAccountHmacs } from './hmacs.ts'
import { type Processed, processRest, type TargetCall } from './processing.ts'
import {
  countNearMatches,
  erasesSubjects,
  findHolding,
  findSealedProofs,
  groupProofs,
  showsDeleted,
  type Target,
  unlessForbidden,
} from './records.ts'
import { type ErasureRun, type ErasureState, type RecordAnswer, toInstant, toRecord } from './state.ts'

/** The service's own erasure of several records of a subject, or the deletion of one record. */
type DeleteCall = TargetCall<RecordAnswer, ErasedRecord>

/** Deletes the targets without an outcome. @throws CallError if a call for several records fails */
export async function* deleteRest(
  run: ErasureRun,
  isStopped: () => boolean,
): AsyncGenerator<readonly Processed<ErasedRecord>[]> {
  yield* processRest(run, (await erasesSubjects(run.api)) ? bySubject : byRecord, isStopped)
}

const stuckError = () => new CliError('not_deleted', exit.temporary, 'the service could not delete the record')

const bySubject: DeleteCall = {
  batchSize: 200,
  concurrency: 1,
  isBatch: true,
  toDone: toRecord,
  stuckError,
  send: async ({ api, state }, batch, { onResponse, onLost }) => {
    const { ticket, reason, subjects } = state.order
    const ids = batch.map(({ id }) => id)
    const subject_id = subjects[batch[0]?.subject ?? 0] ?? ''
    const body = { subject_id, ids, ticket, ...(reason !== null && { reason }) }
    const answer = await api.call(subjectEndpoints.erase, { body, isIdempotent: true, onResponse, onLost })
    const { certificate, complete, marked, unverified, held } = answer
    requireNotHeld(held)
    const { erased, earlier } = requireToldAsAsked(answer, new Set(ids))
    const records = batch.flatMap((target): RecordAnswer[] => {
      const isAbsent = !erased.has(target.id)
      if (isAbsent && !earlier.has(target.id) && !complete) return []
      return [{ target, isAbsent, deleted_at: toInstant(erased.get(target.id) ?? earlier.get(target.id) ?? null) }]
    })
    return { certificate, isComplete: complete, unverified, records, isStuck: records.length === 0 && marked === 0 }
  },
}

/** @throws CliError held (exit 5) */
export function requireNotHeld(
  held: HoldNotice | null | undefined,
  hint = 'once it has ended, or is removed (consentctl hold list), the erasure can go on',
): void {
  if (!held) return
  const message = `a legal hold ${describeHold(held)}`
  throw new CliError('held', exit.rejected, message, { hint })
}

/** Completes "a legal hold …". */
export function describeHold({ until, reason }: HoldNotice): string {
  return `keeps the records of this person until ${until}: ${reason}`
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

const byRecord: DeleteCall = {
  batchSize: 1,
  concurrency: 8,
  isBatch: false,
  toDone: toRecord,
  stuckError,
  send: async ({ api }, [target], { mayBeOwn, onResponse, onLost }) => {
    const { id } = target as Target
    let status: number | undefined
    const found = await api
      .call(consents.remove, {
        params: { id },
        checksId: true,
        onResponse: response => {
          status = response.status
          onResponse?.(response)
        },
        onLost,
      })
      .catch((error: unknown) => {
        if (exitOf(error) !== exit.notFound) throw error
        status = 404
        return null
      })
    const isAbsent = status === 404 // a repeated call resolves with it
    let deleted_at: string | null = null
    if (isAbsent && mayBeOwn(id)) deleted_at = await findDeletionTime(api, id)
    else if (!isAbsent && found?.id === id) deleted_at = toInstant(found.deleted_at)
    const records = [{ target: target as Target, isAbsent, deleted_at }]
    return { certificate: null, isComplete: false, unverified: [], records, isStuck: false }
  },
}

async function findDeletionTime(api: ErasureRun['api'], id: string): Promise<string | null> {
  try {
    if (!(await showsDeleted(api, consents.get))) return null
    const found = await api.consents.get({ params: { id }, query: { include_deleted: true } })
    return toInstant(found.deleted_at)
  } catch (error) {
    if (exitOf(error) === exit.interrupted || exitOf(error) === exit.terminated) throw error
    return null
  }
}

/** True if the service marks identifiers without live records as erased. */
export async function marksErased(api: Pick<Client, 'supports'>): Promise<boolean> {
  return (await erasesSubjects(api)) && (await api.supports(restore))
}

type OnAnswer = (certificate: string | null, isLost: boolean) => void

/**
 * Marks the deleted records as erased, so that a restore needs confirmation. Skipped if an erasure of live records has
 * marked them. @throws CallError
 * @throws CliError not_marked (exit 7) if the service marks no more, though some are left
 */
export async function markErased(
  api: Pick<Client, 'call' | 'supports'>,
  { order, marked }: Pick<ErasureState, 'order' | 'marked'>,
  onAnswer: OnAnswer = () => {},
): Promise<void> {
  if (!(await marksErased(api))) return
  for (const [subject, subject_id] of order.subjects.entries()) {
    let isComplete = marked.has(subject)
    while (!isComplete) isComplete = await markSome(api, { subject_id, ids: [], ticket: order.ticket }, onAnswer)
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
    requireNotHeld(answer.held)
    requireToldAsAsked(answer, new Set())
    if (answer.complete || answer.marked > 0) return answer.complete
  } finally {
    onAnswer(certificate, isLost)
  }
  throw new CliError('not_marked', exit.temporary, 'the service could not mark all deleted records as erased')
}

export interface Verified {
  readonly verification: ErasureReceipt['verification']
  readonly near_matches: number | null
  /** Of the account; null if the service does not tell them. */
  readonly subject_hmacs: readonly string[] | null
}

/** @throws CliError quota_exceeded (exit 6) if it needs lists */
export async function verifyErased(api: Client, subjects: readonly string[]): Promise<Verified> {
  const checked_at = new Date().toISOString()
  const { live, deleted } = await findHolding(api, subjects)
  const remaining = live.map(({ id, site_id }) => ({ id, site_id }))
  const sealed_proofs = groupProofs((await unlessForbidden(findSealedProofs(api, subjects))) ?? [])
  const verification = {
    ...{ checked_at, live: live.length, deleted, remaining },
    ...(sealed_proofs.length > 0 && { sealed_proofs }),
  }
  const subject_hmacs = (await findAccountHmacs(api, subjects))?.subject_hmacs ?? null
  return { verification, near_matches: await countNearMatches(api, subjects), subject_hmacs }
}
