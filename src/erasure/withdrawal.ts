import type { Client } from '../client/client.ts'
import { EndlessListError } from '../client/errors.ts'
import {
  type TurnedOffRecord,
  type WithdrawalReceipt,
  withdrawalResult,
} from '../contract/documents/withdrawal-receipt.ts'
import type { AuditEntry, SubjectWithdrawal, WithdrawnRecord } from '../contract/index.ts'
import { subjects as subjectEndpoints } from '../contract/subjects.ts'
import { withdrawnRecordsLimit } from '../contract/withdrawals.ts'
import { CliError, exit } from '../errors/errors.ts'
import { exitOf } from '../errors/explain.ts'
import { signDocument } from '../evidence/signed.ts'
import { turnOff } from '../evidence/state.ts'
import type { Signer } from '../receipts/signer.ts'
import { findAccountHmacs } from './hmacs.ts'
import type { ErasureHeader, PersonState } from './job.ts'
import type { TargetCall } from './processing.ts'
import { appendReceipt, describeMaking, type StoredReceipt } from './receipts.ts'
import { countNearMatches, type Target } from './records.ts'

export type Withdrawal = NonNullable<ErasureHeader['withdrawal']>

/** A live record that grants one of the purposes. */
export interface Granting extends Target {
  readonly version: number
  readonly purposes: readonly string[]
}

export interface Granted {
  readonly granting: readonly Granting[]
  readonly live: number
  readonly not_answered: number
}

/**
 * Lists what would be withdrawn, without quota.
 * @throws EndlessListError if a page does not continue the previous one
 */
export async function findGranting(
  api: Pick<Client, 'call'>,
  subjects: readonly string[],
  { purposes, site_id }: Withdrawal,
): Promise<Granted> {
  const granting: Granting[] = []
  const counts = { live: 0, not_answered: 0 }
  for (const [subject, subject_id] of subjects.entries()) {
    const body = { subject_id, purposes: [...purposes], dry_run: true, ...(site_id !== null && { site_id }) }
    for await (const { records, live, not_answered, isFirst } of pagesOf(api, body)) {
      if (isFirst) {
        counts.live += live
        counts.not_answered += not_answered
      }
      for (const { id, site_id, before, purposes } of records)
        granting.push({ id, site_id, subject, version: before, purposes })
    }
  }
  return { granting, ...counts }
}

async function* pagesOf(api: Pick<Client, 'call'>, body: SubjectWithdrawal) {
  let after: string | undefined
  for (let isLast = false; !isLast; ) {
    const isFirst = after === undefined
    const page = await api.call(subjectEndpoints.withdraw, { body: { ...body, after }, isIdempotent: true })
    yield { ...page, isFirst }
    for (const { id } of page.records) {
      if (after !== undefined && id <= after) throw new EndlessListError()
      after = id
    }
    isLast = page.records.length < withdrawnRecordsLimit
  }
}

interface Seen {
  readonly target: Target
  readonly record: Omit<TurnedOffRecord, 'request_id'>
  /** True if the response to this request says that it changed the record. */
  readonly isTold: boolean
}

/** `api_key_id`: of the key that withdraws; null if unknown. */
export function withdrawalCall({ purposes }: Withdrawal, api_key_id: string | null): TargetCall<Seen, TurnedOffRecord> {
  return {
    batchSize: 200,
    concurrency: 1,
    isBatch: true,
    stuckError: () => new CliError('not_withdrawn', exit.temporary, 'the service could not change the record'),
    toDone: (_, { record, isTold }, { requestId }) => ({ ...record, request_id: isTold ? requestId : null }),
    send: async ({ api, state }, batch, { mayBeOwn, onResponse, onLost }) => {
      const ids = batch.map(({ id }) => id)
      const subject_id = state.order.subjects[batch[0]?.subject ?? 0] ?? ''
      const body = { subject_id, ids, purposes: [...purposes] }
      const answer = await api.call(subjectEndpoints.withdraw, { body, isIdempotent: true, onResponse, onLost })
      const changed = requireAsked(answer.records, new Set(ids))
      const records: Seen[] = []
      for (const target of batch) {
        const told = changed.get(target.id)
        if (told) records.push({ target, record: toRecord(told), isTold: true })
        else if (answer.complete)
          records.push({
            target,
            record: await findChange(api, target, { purposes, api_key_id, mayBeOwn: mayBeOwn(target.id) }),
            isTold: false,
          })
      }
      return { certificate: null, isComplete: answer.complete, unverified: [], records, isStuck: records.length === 0 }
    },
  }
}

/** @throws CliError unexpected_answer (exit 5) if the service names another record */
function requireAsked(records: readonly WithdrawnRecord[], asked: ReadonlySet<string>): Map<string, WithdrawnRecord> {
  const stranger = records.find(({ id }) => !asked.has(id))
  if (stranger === undefined) return new Map(records.map(record => [record.id, record]))
  const message = `the service says that it changed the record ${stranger.id}, which it was not asked to change`
  throw new CliError('unexpected_answer', exit.rejected, message, {
    hint: 'report this to the operator of the instance',
  })
}

function toRecord({ id, site_id, purposes, accepted, before, version, changed_at }: WithdrawnRecord): Seen['record'] {
  return { id, site_id, result: 'withdrawn', purposes, accepted, before, version, changed_at }
}

interface Search {
  readonly purposes: readonly string[]
  readonly api_key_id: string | null
  readonly mayBeOwn: boolean
}

/** Asks the history of a record that grants none of the purposes any more, though this request did not change it. */
async function findChange(
  api: Pick<Client, 'consents'>,
  { id, site_id, version: planned = 0 }: Target,
  { purposes, api_key_id, mayBeOwn }: Search,
): Promise<Seen['record']> {
  const nothing = { purposes: [], accepted: null, before: null, version: null, changed_at: null }
  const other = (result: TurnedOffRecord['result']) => ({ id, site_id, result, ...nothing })
  let entries: readonly AuditEntry[]
  try {
    entries = (await api.consents.history({ params: { id } })).data
  } catch (error) {
    if (exitOf(error) === exit.notFound) return other('gone')
    if (exitOf(error) === exit.quota) return other('unknown')
    throw error
  }
  const own = mayBeOwn && api_key_id !== null ? findTurning(entries, purposes, { planned, api_key_id }) : null
  if (own) return { id, site_id, result: 'withdrawn', ...own }
  if (['deleted', 'purged'].includes(entries.at(-1)?.action ?? '')) return other('gone')
  return other(mayBeOwn && api_key_id === null ? 'unknown' : 'already_off')
}

/** The newest entry since the plan by which the key turned off one of the purposes. */
function findTurning(
  entries: readonly AuditEntry[],
  purposes: readonly string[],
  { planned, api_key_id }: { readonly planned: number; readonly api_key_id: string },
) {
  for (let index = entries.length - 1; index > 0; index -= 1) {
    const [before, after] = [entries[index - 1], entries[index]]
    if (!before || !after || (after.version ?? 0) <= planned) return null
    if (after.action !== 'updated' || after.actor_id !== api_key_id) continue
    const left = new Set(granted(after, purposes))
    const turned = granted(before, purposes).filter(purpose => !left.has(purpose))
    const { accepted, version, created_at } = after
    if (turned.length > 0)
      return { purposes: turned, accepted, before: before.version, version, changed_at: created_at }
  }
  return null
}

function granted({ accepted, preferences }: AuditEntry, purposes: readonly string[]): readonly string[] {
  return turnOff({ accepted: accepted === true, preferences: preferences ?? {} }, purposes).withdrawn
}

export interface VerifiedWithdrawal {
  readonly verification: WithdrawalReceipt['verification']
  readonly near_matches: number | null
  /** Of the account; null if the service does not tell them. */
  readonly subject_hmacs: readonly string[] | null
}

export async function verifyWithdrawn(
  api: Client,
  subjects: readonly string[],
  withdrawal: Withdrawal,
): Promise<VerifiedWithdrawal> {
  const checked_at = new Date().toISOString()
  const { granting, live, not_answered } = await findGranting(api, subjects, withdrawal)
  const remaining = granting.map(({ id, site_id }) => ({ id, site_id }))
  return {
    verification: { checked_at, live, not_answered, remaining },
    near_matches: await countNearMatches(api, subjects),
    subject_hmacs: (await findAccountHmacs(api, subjects))?.subject_hmacs ?? null,
  }
}

export async function makeWithdrawalReceipt(
  signer: Signer,
  header: ErasureHeader & { readonly withdrawal: Withdrawal },
  state: PersonState<TurnedOffRecord>,
  { verification, near_matches, subject_hmacs }: VerifiedWithdrawal,
): Promise<StoredReceipt<WithdrawalReceipt>> {
  const making = describeMaking(signer, header, state, subject_hmacs)
  const records = toRecords(state, verification)
  const { purposes, site_id } = header.withdrawal
  return await appendReceipt(signer.store, header.job, (number, previous) => {
    const receipt: WithdrawalReceipt = {
      type: 'withdrawal_receipt',
      number,
      ...making,
      purposes,
      site_id,
      result: withdrawalResult({ records: records.length, remaining: verification.remaining.length }),
      counts: countResults(records),
      records,
      verification,
      previous,
      near_matches,
    }
    return signDocument(receipt, signer.key.key)
  })
}

/** A record that still grants a purpose is `remaining`, whatever the call returned. */
function toRecords(
  { targets, done }: PersonState<TurnedOffRecord>,
  { remaining }: WithdrawalReceipt['verification'],
): TurnedOffRecord[] {
  const listed = new Set(remaining.map(({ id }) => id))
  const nothing = { purposes: [], accepted: null, before: null, version: null, changed_at: null, request_id: null }
  return [...targets.keys()].map(id => {
    const record = done.get(id)
    if (record === undefined) throw new Error(`the outcome of the record ${id} is unknown: nothing is signed`)
    return listed.has(id) ? { ...record, result: 'remaining', ...nothing } : record
  })
}

function countResults(records: readonly TurnedOffRecord[]): WithdrawalReceipt['counts'] {
  const counts = { withdrawn: 0, already_off: 0, gone: 0, unknown: 0 }
  for (const { result } of records) if (result !== 'remaining') counts[result] += 1
  return counts
}
