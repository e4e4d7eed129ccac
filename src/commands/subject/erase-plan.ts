import { type ConfirmOptions, promptToConfirm, requireConfirmedCount } from '../../cli/confirm.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import type { Consent } from '../../contract/index.ts'
import { countInBulk, erasesItself } from '../../erasure/bulk.ts'
import { countSites, liveRecords } from '../../erasure/found.ts'
import { type KnownPlan, makePlan, requireAsPlanned } from '../../erasure/plan.ts'
import { worker } from '../../erasure/worker.ts'
import { exit } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { declinedError, prompt } from '../../io/prompt.ts'
import { requireBaseUrl } from '../../settings/settings.ts'
import { consentView } from '../../views/consent.ts'
import type { Request } from './erase-options.ts'
import { quotaError } from './quota.ts'
import { tellSites } from './subjects.ts'

/** What is there to be erased. Without records, because the quota is used up, only the service itself can erase it. */
export interface Found {
  readonly records: readonly Consent[] | null
  readonly counts: ReadonlyMap<string | null, number>
  readonly total: number
}

/** Looks what is held; where the quota is used up, how much of it, if the service can be had to erase it itself. */
export async function lookUp(ctx: Context, subjects: readonly string[], mayCount: boolean): Promise<Found> {
  try {
    const records = await liveRecords(ctx, subjects)
    return { records, counts: countSites(records), total: records.length }
  } catch (error) {
    if (exitOf(error) !== exit.quota) throw error
    if (!mayCount || !(await erasesItself(ctx))) throw quotaError(error)
    await ctx.say('the month’s quota is used up: the service counts and erases the records itself')
    const counts = await countInBulk(ctx, subjects)
    return { records: null, counts, total: [...counts.values()].reduce((sum, count) => sum + count, 0) }
  }
}

export function planOf(
  ctx: Context,
  { subjects, ...request }: Request,
  records: readonly Consent[],
): KnownPlan {
  const about = { created_at: new Date().toISOString(), instance: requireBaseUrl(ctx.settings), ...worker() }
  return makePlan({ ...about, subjects: [...subjects], ...request }, records)
}

/**
 * Shows what would go, and asks where that is wanted; throws where it is declined, or not what it was said to be. What
 * was confirmed after a while of thinking is looked at once more.
 */
export async function review(
  ctx: Context,
  { records, counts, total }: Found,
  { asks, sure, subjects }: { asks: boolean; sure: ConfirmOptions; subjects: readonly string[] },
): Promise<void> {
  requireConfirmedCount(sure, total, 'record', 'erased')
  const where = instanceLabel(ctx)
  if (total === 0) return await tellNothing(ctx, asks)
  if (!asks) return await tellSites(ctx, counts, where)
  if (records === null) {
    await tellSites(ctx, counts, where)
    const answer = await prompt(
      ctx.io,
      `Type ${total} to erase ${formatCount(total)} on ${where}: `,
      ctx.interruption,
    )
    if (answer.trim() !== String(total)) throw declinedError()
    return
  }
  const named = new Map([...counts].map(([site, count]) => [site ?? '(none)', count]))
  await promptToConfirm(ctx, consentView, records, { action: 'erase', noun: 'record', where, counts: named })
  requireAsPlanned(makePlanned(ctx, subjects, records), await liveRecords(ctx, subjects))
}

/** A slip of the pen finds nothing either, and the receipt of it is for ever. */
async function tellNothing(ctx: Context, asks: boolean): Promise<void> {
  await ctx.say(
    'nothing live is found; identifiers are compared exactly: upper and lower case, and blanks, count',
  )
  if (!asks) return
  const answer = await prompt(ctx.io, 'Make a receipt that nothing is held? [y/N] ', ctx.interruption)
  if (!/^y(es)?$/i.test(answer.trim())) throw declinedError()
}

function makePlanned(ctx: Context, subjects: readonly string[], records: readonly Consent[]) {
  return planOf(ctx, { subjects, ticket: '-', reason: null, received_at: null }, records).plan
}
