import { dueAfter } from '../contract/deadline.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { signDocument } from '../evidence/signed.ts'
import type { Signer } from '../receipts/signer.ts'
import type { Verified } from './deletion.ts'
import type { ErasureHeader, PersonState } from './job.ts'
import { toOutcome } from './outcome.ts'
import { appendReceipt, findReceiptsOfJob, type StoredReceipt } from './receipts.ts'

/**
 * Returns the receipt that an earlier run of the job has made for the person, by ticket and records: each person of a
 * job has others, and the signing key may have been replaced.
 */
export async function findMadeReceipt(
  store: Signer['store'],
  { job }: ErasureHeader,
  { order, targets }: PersonState,
): Promise<StoredReceipt | null> {
  const ofJob = await findReceiptsOfJob(store, job)
  const isOfPerson = ({ receipt: { ticket, records } }: StoredReceipt) =>
    ticket === order.ticket && records.length === targets.size && records.every(({ id }) => targets.has(id))
  return ofJob.find(isOfPerson) ?? null
}

/** Idempotent: returns an earlier run's receipt. */
export async function makeReceipt(
  { store, key, account_id, api_key_id }: Signer,
  header: ErasureHeader,
  state: PersonState,
  { verification, near_matches }: Verified,
): Promise<StoredReceipt> {
  const { order } = state
  const made = await findMadeReceipt(store, header, state)
  if (made) return made
  const finished_at = new Date().toISOString()
  const { result, statement, counts, sites, records, unverified } = toOutcome(state, verification)
  return await appendReceipt(store, header.job, (number, previous) => {
    const receipt: ErasureReceipt = {
      type: 'erasure_receipt',
      version: 1,
      key_id: key.id,
      number,
      job: header.job,
      instance: header.base_url,
      profile: header.profile,
      who: header.who,
      host: header.host,
      ticket: order.ticket,
      reason: order.reason,
      received_at: order.received_at,
      due_at: order.due_at ?? (order.received_at === null ? null : dueAfter(order.received_at)),
      started_at: header.started_at,
      finished_at,
      clock_offset_seconds: state.clockOffset,
      subject_hmacs: order.subjects.map(subject => key.hmacOf(subject)),
      subjects: header.shows_subject ? [...order.subjects] : null,
      result,
      statement,
      counts,
      sites,
      records,
      unverified,
      planned_by: order.planned_by,
      plan_sha256: order.plan_sha256,
      export_sha256: order.export_sha256,
      answers_lost: state.lostAnswers,
      verification,
      certificates: state.certificates,
      previous,
      account_id: header.account_id ?? account_id,
      api_key_id,
      near_matches,
    }
    return signDocument(receipt, key.key)
  })
}
