import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { commandOf, eraseJournals, readJob } from '../../erasure/journals.ts'
import { probeReceipts, receiptOfJob, receiptsFolder, type StoredReceipt } from '../../erasure/receipts.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { requireSameOrigin } from '../../settings/job-origin.ts'
import { erasureView } from '../../views/subject.ts'
import { carryOut, tellReceipt } from './carry-out.ts'

const Options = z.strictObject({ operands: z.tuple([nonEmpty]) })

/** `subject resume`: goes on with an erasure that was stopped or killed. */
export function resume(command: Command, ctx: Context): void {
  command
    .argument('<job|last>', 'the job, as it was told when it stopped')
    .addHelpText(
      'after',
      `
Deletes what is left of the plan that was confirmed, verifies, and makes the receipt. It can be killed at
any step and resumed again: nothing is deleted twice, and a job has one receipt. "last" is the last job of
the profile and instance in use. Jobs that are not over are in the folder of the state, with the data
subject in clear, for you alone.

Examples:
  $ consentctl subject resume last
  $ consentctl subject resume 5f0d7c0e-3a56-4f0e-9d0a-0d5a2f6c1b7e -p production`,
    )
    .action(
      action(ctx, Options, erasureView, async (_, { operands: [wanted] }) => {
        const journals = eraseJournals(ctx)
        const folder = receiptsFolder(ctx)
        const found = await journals.find(wanted).catch(async (error: unknown) => {
          const made = await receiptOfJob(folder, wanted)
          if (made) return made
          throw error
        })
        if (typeof found !== 'string') return await over(ctx, found)
        const header = await journals.readHeader(found)
        requireSameOrigin(ctx.settings, header, commandOf(header))
        const made = await receiptOfJob(folder, found)
        if (!made) await probeReceipts(ctx)
        const journal = await journals.resume(found)
        const job = made ? null : await readJob(journal)
        if (!job?.isPlanned) await journal.close(true)
        if (made) return await over(ctx, made)
        if (!job?.isPlanned) throw notBegun(found)
        return carryOut({ ctx, job, journal })
      }),
    )
}

/** A job that has its receipt. */
async function over(ctx: Context, made: StoredReceipt): Promise<Output<unknown>> {
  const code = await tellReceipt(ctx, made)
  return many(erasureView, pagesOf(made.receipt.records), { exit: () => code }) as Output<unknown>
}

function notBegun(job: string): CliError {
  return new CliError('not_begun', exit.temporary, `the job ${job} was killed before anything was deleted`, {
    hint: 'run consentctl subject erase again',
  })
}
