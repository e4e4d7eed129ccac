import { randomUUID } from 'node:crypto'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { receiptFor, verifyGone } from '../../erasure/finish.ts'
import { type Header, newJob } from '../../erasure/job.ts'
import { eraseJournals } from '../../erasure/journals.ts'
import { openReceiptKey } from '../../erasure/keys.ts'
import { note } from '../../erasure/open.ts'
import type { KnownPlan } from '../../erasure/plan.ts'
import { probeReceipts } from '../../erasure/receipts.ts'
import { worker } from '../../erasure/worker.ts'
import { requireBaseUrl } from '../../settings/settings.ts'
import { erasureView } from '../../views/subject.ts'
import { carryOut, tellReceipt } from './carry-out.ts'
import type { EraseOptions, Request } from './erase-options.ts'
import type { Found } from './erase-plan.ts'

interface About {
  readonly plan: KnownPlan | null
  readonly given: KnownPlan | null
  readonly found: Found
  readonly exported: string | null
  readonly options: EraseOptions
}

/** All that the receipt will say, but for what becomes of the records. */
export function headerOf(
  ctx: Context,
  request: Request,
  { plan, given, found, exported, options }: About,
): Header {
  const { subjects, ticket, reason, received_at } = request
  return {
    version: 1,
    job: randomUUID(),
    profile: ctx.settings.profile.value,
    base_url: requireBaseUrl(ctx.settings),
    subjects: [...subjects],
    ticket,
    reason,
    received_at,
    shows_subject: options.showSubject ?? false,
    started_at: new Date().toISOString(),
    ...worker(),
    planned_by: given && { who: given.plan.who, host: given.plan.host, created_at: given.plan.created_at },
    plan_sha256: plan?.sha256 ?? null,
    export_sha256: exported,
    is_exact: given !== null || options.confirm !== undefined,
    counted: found.records ? null : [...found.counts].map(([site_id, records]) => ({ site_id, records })),
  }
}

/** The key that will sign is there before anything is deleted, and the whole plan is on the disk. */
export async function begin(
  ctx: Context,
  header: Header,
  { records, total }: Found,
): Promise<Output<unknown>> {
  const job = newJob(header)
  await openReceiptKey(ctx)
  await probeReceipts(ctx)
  if (total === 0) {
    const code = await tellReceipt(ctx, await receiptFor(ctx, job, await verifyGone(ctx, header.subjects)))
    return many(erasureView, pagesOf([]), { exit: () => code }) as Output<unknown>
  }
  const journal = await eraseJournals(ctx).create(header)
  const open = { ctx, job, journal }
  try {
    await Promise.all((records ?? []).map(({ id, site_id }) => note(open, ['p', { id, site_id }])))
    await note(open, ['P'])
  } catch (error) {
    await journal.close(true)
    throw error
  }
  return carryOut(open)
}
