import type { Client } from '../client/client.ts'
import { dueAfter } from '../contract/deadline.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { signDocument } from '../evidence/signed.ts'
import type { JobState } from './job.ts'
import { countNearMatches } from './near.ts'
import { appendReceipt, findReceiptOfJob, type StoredReceipt } from './receipts.ts'
import { askForErasable, listHolding } from './records.ts'
import type { ErasureRequest } from './request.ts'
import { toOutcome } from './result.ts'

type Verification = ErasureReceipt['verification']

export interface Verified {
  readonly verification: Verification
  /** Null if not known. */
  readonly near_matches: number | null
}

/** @throws CliError quota_exceeded (exit 6) if it needs lists */
export async function verifyErased(api: Client, { subjects, deletes_by }: JobState['header']): Promise<Verified> {
  const checked_at = new Date().toISOString()
  const ask = deletes_by === 'subject' ? askForErasable : listHolding
  const { live, deleted } = await ask(api, subjects)
  const remaining = live.map(({ id, site_id }) => ({ id, site_id }))
  const verification = { checked_at, live: live.length, deleted, remaining }
  return { verification, near_matches: await countNearMatches(api, subjects) }
}

/** Idempotent: returns an earlier run's receipt. */
export async function makeReceipt(
  { store, key, account_id, api_key_id }: Pick<ErasureRequest, 'store' | 'key' | 'account_id' | 'api_key_id'>,
  state: JobState,
  { verification, near_matches }: Verified,
): Promise<StoredReceipt> {
  const { header } = state
  const made = await findReceiptOfJob(store, header.job)
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
      ticket: header.ticket,
      reason: header.reason,
      received_at: header.received_at,
      due_at: header.due_at ?? (header.received_at === null ? null : dueAfter(header.received_at)),
      started_at: header.started_at,
      finished_at,
      clock_offset_seconds: state.clockOffset,
      subject_hmacs: header.subjects.map(subject => key.hmacOf(subject)),
      subjects: header.shows_subject ? header.subjects : null,
      result,
      statement,
      counts,
      sites,
      records,
      unverified,
      planned_by: header.planned_by,
      plan_sha256: header.plan_sha256,
      export_sha256: header.export_sha256,
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
