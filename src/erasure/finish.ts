import type { Context } from '../context.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { exit } from '../errors/errors.ts'
import { exitOf } from '../errors/explain.ts'
import { signDocument } from '../evidence/signed.ts'
import { countInBulk, erasesItself } from './bulk.ts'
import { dueAfter } from './due.ts'
import { recordsOf, showsDeleted } from './found.ts'
import type { Job } from './job.ts'
import { openReceiptKey } from './keys.ts'
import { appendReceipt, receiptOfJob, receiptsFolder, type StoredReceipt } from './receipts.ts'
import { workOf } from './work.ts'

type Verification = ErasureReceipt['verification']

/** Looks what is there now: what is live, and where the instance shows it, what is deleted and still held. */
export async function verifyGone(ctx: Context, subjects: readonly string[]): Promise<Verification> {
  const checked_at = new Date().toISOString()
  try {
    const isShown = await showsDeleted(ctx)
    const remaining: Verification['remaining'] = []
    let deleted = 0
    for await (const page of recordsOf(ctx, subjects, { deleted: isShown })) {
      for (const { id, site_id, deleted_at } of page) {
        if (deleted_at === null) remaining.push({ id, site_id })
        else deleted += 1
      }
    }
    return { checked_at, live: remaining.length, deleted: isShown ? deleted : null, remaining }
  } catch (error) {
    if (exitOf(error) !== exit.quota || !(await erasesItself(ctx))) throw error
    const counts = await countInBulk(ctx, subjects)
    const live = [...counts.values()].reduce((sum, count) => sum + count, 0)
    return { checked_at, live, deleted: null, remaining: [] }
  }
}

/** The one receipt of a job that is done: it is made, unless an earlier run has made it. */
export async function receiptFor(ctx: Context, job: Job, verification: Verification): Promise<StoredReceipt> {
  const made = await receiptOfJob(receiptsFolder(ctx), job.header.job)
  if (made) return made
  const key = await openReceiptKey(ctx)
  const finished_at = new Date().toISOString()
  return await appendReceipt(ctx, job.header.job, (number, previous) => {
    const receipt: ErasureReceipt = {
      type: 'erasure_receipt',
      version: 1,
      key_id: key.id,
      number,
      ...aboutOf(job),
      finished_at,
      clock_offset_seconds: job.clockOffset,
      subject_hmacs: job.header.subjects.map(subject => key.hmacOf(subject)),
      subjects: job.header.shows_subject ? job.header.subjects : null,
      ...workOf(job, verification),
      verification,
      certificates: job.answers.flatMap(({ certificate }) => certificate ?? []),
      previous,
    }
    return signDocument(receipt, key.key)
  })
}

function aboutOf({ header }: Job) {
  const { job, base_url, profile, who, host, ticket, reason, received_at, started_at } = header
  const due_at = received_at === null ? null : dueAfter(received_at)
  return { job, instance: base_url, profile, who, host, ticket, reason, received_at, due_at, started_at }
}
