import { formatCount, instanceLabel } from '../../../cli/messages.ts'
import { many, type Output } from '../../../cli/output.ts'
import type { Context } from '../../../context.ts'
import { exitOf as exitOfError } from '../../../errors/explain.ts'
import { limitHeapGrowth } from '../../../io/memory.ts'
import { requireApiKey, requireBaseUrl } from '../../../settings/settings.ts'
import { bulkView, type LineResult } from '../../../views/import.ts'
import { validate } from './check.ts'
import { type BulkOptions, type Job, openJob } from './job.ts'
import { send } from './run.ts'
import { exitOf, newTally, type Tally } from './tally.ts'
import { resumption, tellEmpty } from './tell.ts'

/**
 * Creates a record for each line, and yields a result for each, in the order of the lines. A file is read through
 * before anything is sent. A line that fails is reported and the others go on, until none can fare better or too many
 * failed; what a file's job has not done then, `--resume` does.
 */
export function bulkCreate(ctx: Context, options: BulkOptions): Output<LineResult> {
  requireBaseUrl(ctx.settings)
  if (!options.dryRun) requireApiKey(ctx.settings)
  limitHeapGrowth()
  const tally = newTally()
  return many(bulkView, pages(ctx, options, tally), {
    mutates: true,
    resumes: true,
    exit: () => exitOf(tally),
  })
}

async function* pages(
  ctx: Context,
  options: BulkOptions,
  tally: Tally,
): AsyncGenerator<readonly LineResult[]> {
  const job = { value: null as Job | null }
  heedSignals(ctx, tally, () => job.value && resumption(ctx, options, job.value))
  const { signal } = tally.interruption
  job.value = await openJob(ctx, options, signal)
  try {
    if (options.dryRun) await preview(ctx, job.value, options, signal)
    else if (signal.aborted) await ctx.warn('interrupted: nothing was sent')
    else yield* send({ ctx, options, job: job.value, tally })
  } finally {
    await job.value.source.close()
  }
}

/** What is under way is finished and told. A second signal ends the process as ever. */
function heedSignals({ interruption, warn }: Context, tally: Tally, command: () => string | null): void {
  interruption.addEventListener('abort', () => {
    tally.signalExit = exitOfError(interruption.reason)
    tally.stop ??= 'interrupted'
    tally.interruption.abort()
    const how = command()
    if (how) void warn(`ending what is under way; to go on later: ${how}`).catch(() => {})
  })
}

/** Tells what would be sent, after every line was checked. */
async function preview(ctx: Context, job: Job, options: BulkOptions, signal: AbortSignal): Promise<void> {
  const { lines } = job.extent ?? (await validate(ctx, job.source, options.maxErrors, signal))
  if (lines === 0) await tellEmpty(ctx, job)
  const rest = lines - job.before
  await ctx.warn(`would create ${formatCount(rest)} on ${instanceLabel(ctx)}; nothing was sent`)
}
