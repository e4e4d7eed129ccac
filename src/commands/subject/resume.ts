import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import type { Output } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { newMatcher } from '../../erasure/hmacs.ts'
import { type ErasureJob, erasureJobs, requireSameAccount, resumeCommandOf, resumeJob } from '../../erasure/job.ts'
import { type EarlierReceipts, findMadeReceipt, findReceiptsOfJob } from '../../erasure/receipts.ts'
import { findReceiptKey, openSigner, requireEverySite } from '../../receipts/signer.ts'
import { locateReceipts, requireAppendable } from '../../receipts/store.ts'
import { requireSameOrigin } from '../../settings/settings.ts'
import { erasureView } from '../../views/subject.ts'
import { runJob, tellFinished } from './run.ts'

const Options = z.strictObject({ operands: z.tuple([nonEmpty]) })

export function resume(command: Command, ctx: Context): void {
  command
    .argument('<job|last>', 'the job, as printed when it stopped')
    .description(`
Deletes or withdraws the rest of the confirmed plan, verifies, and makes the receipts. It can be killed at any step and resumed:
nothing is done twice, and each person of a job has one receipt. "last" is the last job of the current profile and
instance. Unfinished jobs are stored in the state folder with the identifiers of the data subjects in clear text; only
you can read them.

Examples:
  $ consentctl subject resume last
  $ consentctl subject resume 5f0d7c0e-3a56-4f0e-9d0a-0d5a2f6c1b7e -p production`)
    .action(action(ctx, Options, erasureView, (_, { operands: [wanted] }) => runResume(ctx, wanted)))
}

async function runResume(ctx: Context, wanted: string): Promise<Output<unknown>> {
  const jobs = erasureJobs(ctx)
  const store = locateReceipts(ctx)
  const found = await jobs.find(wanted).catch(async (error: unknown) => {
    const made = await findReceiptsOfJob(store, wanted)
    if (made.length > 0) return made.reverse()
    throw error
  })
  if (typeof found !== 'string') return await tellFinished(ctx, found)
  const header = await jobs.readHeader(found)
  requireSameOrigin(ctx.settings, header, resumeCommandOf(header))
  const job = await resumeJob(ctx, found)
  try {
    const matcher = newMatcher(ctx.api, await findReceiptKey(store))
    const earlier = { made: await findReceiptsOfJob(store, found), matcher }
    if (await isMade(job, earlier)) return runJob(job, { signer: null, earlier })
    await requireAppendable(store)
    const signer = await openSigner(ctx)
    requireEverySite(signer)
    await requireSameAccount(job, signer)
    return runJob(job, { signer, earlier })
  } catch (error) {
    await job.held.close(false)
    throw error
  }
}

async function isMade({ people, done }: ErasureJob, earlier: EarlierReceipts): Promise<boolean> {
  for (const state of people) if (!done.has(state) && !(await findMadeReceipt(earlier, state))) return false
  return true
}
