import { formatCount, instanceLabel, quoteForShell } from '../../../cli/messages.ts'
import type { Context } from '../../../context.ts'
import { report } from '../../../errors/report.ts'
import type { BulkOptions, Job } from './job.ts'
import type { Run } from './run.ts'

/** Tells how a run went, and what to do about what it has not done: once, whatever many lines share. */
export async function tell({ ctx, options, job, tally }: Run, isOver: boolean): Promise<void> {
  const { created, failed, unknown, last, broken, stop: why } = tally
  if (broken !== null) {
    await report(ctx, broken, `after line ${last}`)
    await ctx.warn('stopped: the lines that follow were not sent')
  } else if (tally.interruption.signal.aborted) {
    await ctx.warn(`interrupted after line ${last}: the lines that follow were not sent`)
  } else if (why !== null) await ctx.warn(`stopped after line ${last}: ${why}`)
  if (last === 0 && why === null) await tellEmpty(ctx, job)
  const before = job.before > 0 ? `, ${job.before} of them in earlier runs` : ''
  const others = `${failed} failed${unknown > 0 ? `, ${unknown} unknown` : ''}`
  await ctx.say(`created ${formatCount(created)} on ${instanceLabel(ctx)}${before}, ${others}`)
  if (failed > 0 && isOver && options.failedOut !== undefined)
    await ctx.say(`the lines that failed are in ${options.failedOut}`)
  const isStopped = why !== null || broken !== null
  const lost = job.journal ? tally.lost : unknown
  if (lost > 0) {
    const them = lost === 1 ? 'it' : 'them'
    await ctx.warn(
      `${formatCount(lost, 'line')} may have been made or not: consentctl list, before you create ${them} again`,
    )
  }
  const command = resumption(ctx, options, job)
  const isOpen = isStopped || failed > 0 || unknown > lost
  const rest = lost > 0 ? 'the others' : 'what is not created'
  if (command && !isOver && isOpen)
    await ctx.warn(`${isStopped ? 'to go on' : `to try again ${rest}`}: ${command}`)
}

/** Tells that there is no line: most often what was to write them has failed. */
export async function tellEmpty({ warn }: Context, { source }: Job): Promise<void> {
  await warn(`${source.name} has no line${source.header() ? ' but its header' : ''}`)
}

/** The command that goes on with a job; null where none can. */
export function resumption({ host }: Context, { resume }: BulkOptions, { journal }: Job): string | null {
  if (!journal) return null
  const more = resume === undefined ? ['--resume', journal.header.job] : []
  return ['consentctl', ...host.argv.slice(2), ...more].map(quoteForShell).join(' ')
}
