import * as z from 'zod'
import type { Client } from '../client/client.ts'
import { dueAfter } from '../contract/deadline.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { describeDeletion } from '../contract/documents/fields.ts'
import { signDocument } from '../evidence/signed.ts'
import { choose } from '../receipts/sentence.ts'
import type { ErasureState } from './job.ts'
import { countNearMatches } from './near.ts'
import { appendReceipt, findReceiptOfJob, type StoredReceipt } from './receipts.ts'
import { askForErasable, listHolding } from './records.ts'
import type { ErasureRequest } from './request.ts'
import { resultSentences } from './sentences.ts'

type Verification = ErasureReceipt['verification']
type Site = ErasureReceipt['sites'][number]

/** Held by the instance once the deletion was over. */
export interface Verified {
  readonly verification: Verification
  /** Null if the instance does not say. */
  readonly near_matches: number | null
}

/**
 * Asks the instance for live records, for deleted ones if it shows them, and for near matches. @throws CallError quota_exceeded (exit 6) if
 * only its lists could tell
 */
export async function verifyErased(api: Client, { subjects, deletes_by }: ErasureState['header']): Promise<Verified> {
  const checked_at = new Date().toISOString()
  const ask = deletes_by === 'subject' ? askForErasable : listHolding
  const { live, deleted } = await ask(api, subjects)
  const remaining = live.map(({ id, site_id }) => ({ id, site_id }))
  const verification = { checked_at, live: live.length, deleted, remaining }
  return { verification, near_matches: await countNearMatches(api, subjects) }
}

/** Makes the receipt of a finished job, or returns the one that an earlier run made. */
export async function makeReceipt(
  { store, key, account_id, api_key_id }: Pick<ErasureRequest, 'store' | 'key' | 'account_id' | 'api_key_id'>,
  state: ErasureState,
  { verification, near_matches }: Verified,
): Promise<StoredReceipt> {
  const { header } = state
  const made = await findReceiptOfJob(store, header.job)
  if (made) return made
  const finished_at = new Date().toISOString()
  const records = toRecords(state, verification)
  const sites = countSites(records)
  const counts = addUp(sites)
  return await appendReceipt(store, header.job, (number, previous) => {
    const receipt: ErasureReceipt = {
      type: 'erasure_receipt',
      version: 2,
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
      result: choose(resultSentences, { found: state.targets.size, ...verification }),
      statement: counts.deleted === 0 ? null : describeDeletion(findPurgeDelay(state.certificates)),
      counts,
      sites,
      records,
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

/** Returns the days from a deletion to the purge by the newest certificate; undefined if there is none that says so. */
function findPurgeDelay(certificates: readonly string[]): number | null | undefined {
  try {
    return PurgeDelay.safeParse(JSON.parse(certificates.at(-1) ?? '{}')).data?.purge_after_days
  } catch {
    return undefined // the certificates of other services may be anything: without a receipt the deletion has no proof
  }
}

const PurgeDelay = z.object({ purge_after_days: z.int().min(0).nullable().optional() })

/** Returns the outcome of each planned record. One that is still listed remains, whatever was answered. */
function toRecords({ targets, done }: ErasureState, { remaining }: Verification): ErasureReceipt['records'] {
  const listed = new Set(remaining.map(({ id }) => id))
  return [...targets.keys()].map(id => {
    const record = done.get(id)
    if (record === undefined) throw new Error(`the outcome of the record ${id} is not known: nothing is signed`)
    if (listed.has(id)) return { ...record, result: 'remaining', deleted_at: null, deleted_at_by: null }
    return { ...record, deleted_at_by: record.deleted_at_by ?? null } // an earlier version did not tell
  })
}

const noRecords = { deleted: 0, already_gone: 0, deleted_in_bulk: 0, unknown: 0 }

function countSites(records: ErasureReceipt['records']): Site[] {
  const sites = new Map<string | null, Site>()
  for (const { site_id, result } of records) {
    if (result === 'remaining') continue
    const site = sites.get(site_id) ?? { site_id, ...noRecords }
    site[result] += 1
    sites.set(site_id, site)
  }
  return [...sites.values()]
}

function addUp(sites: readonly Site[]): ErasureReceipt['counts'] {
  const counts = { ...noRecords }
  for (const site of sites)
    for (const name of Object.keys(noRecords) as (keyof typeof noRecords)[]) counts[name] += site[name]
  return counts
}
