import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { requireSameAccount } from '../../erasure/account.ts'
import { erasureJobs, type RunningJob, readState, resumeCommandOf } from '../../erasure/job.ts'
import { findReceiptOfJob, type StoredReceipt } from '../../erasure/receipts.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { requireAppendable } from '../../receipts/chain.ts'
import { openSigner } from '../../receipts/signer.ts'
import { locateReceipts } from '../../receipts/store.ts'
import { requireSameOrigin } from '../../settings/settings.ts'
import { erasureView } from '../../views/subject.ts'
import { registerReceipt, tellRegistration } from './registration.ts'
import { runJob, tellReceipt } from './run.ts'

const Options = z.strictObject({ operands: z.tuple([nonEmpty]) })

export function resume(command: Command, ctx: Context): void {
  command
    .argument('<job|last>', 'the job, as printed when it stopped')
    .addHelpText(
      'after',
      `
Deletes the rest of the confirmed plan, verifies, and makes the receipt. It can be killed at any step and resumed:
nothing is deleted twice, and a job has one receipt. "last" is the last job of the current profile and instance, or a
file whose people are not all erased. Unfinished jobs are stored in the state folder with the identifier of the data
subject in clear text; only you can read them.

Examples:
  $ consentctl subject resume last
  $ consentctl subject resume 5f0d7c0e-3a56-4f0e-9d0a-0d5a2f6c1b7e -p production`,
    )
    .action(action(ctx, Options, erasureView, (_, { operands: [wanted] }) => runResume(ctx, wanted)))
}

async function runResume(ctx: Context, wanted: string): Promise<Output<unknown>> {
  const { continueBatch, findBatch } = await import('./batch.ts')
  const batch = await findBatch(ctx, wanted)
  if (batch !== null) return await continueBatch(ctx, batch)
  const jobs = erasureJobs(ctx)
  const store = locateReceipts(ctx)
  const found = await jobs.find(wanted).catch(async (error: unknown) => {
    const made = await findReceiptOfJob(store, wanted)
    if (made) return made
    throw error
  })
  if (typeof found !== 'string') return await tellDone(ctx, found)
  const header = await jobs.readHeader(found)
  requireSameOrigin(ctx.settings, header, resumeCommandOf(header))
  const made = await findReceiptOfJob(store, found)
  if (!made) await requireAppendable(store)
  const held = await jobs.resume(found)
  if (made) return await tellMade(ctx, held, made)
  const state = await readState(held)
  if (!state.isPlanned) await held.close(true)
  if (!state.isPlanned)
    throw new CliError('not_begun', exit.temporary, `the job ${found} was killed before anything was deleted`, {
      hint: 'run consentctl subject erase again',
    })
  try {
    const signer = await openSigner(ctx)
    await requireSameAccount(ctx.api, state, signer)
    return runJob({ ctx, state, held }, signer)
  } catch (error) {
    await held.close(false)
    throw error
  }
}

/** For a receipt whose job an earlier run could not close. */
async function tellMade(ctx: Context, held: RunningJob['held'], made: StoredReceipt): Promise<Output<unknown>> {
  const unregistered = await registerReceipt(ctx, held.header, made)
  await held.close(unregistered === null)
  const output = await tellDone(ctx, made)
  await tellRegistration(ctx, held.header, unregistered)
  if (unregistered === null || output.exit?.() !== exit.done) return output
  return { ...output, exit: () => exitOf(unregistered.error) }
}

async function tellDone(ctx: Context, made: StoredReceipt): Promise<Output<unknown>> {
  const code = await tellReceipt(ctx, made)
  return many(erasureView, pagesOf(made.receipt.records), { exit: () => code }) as Output<unknown>
}
