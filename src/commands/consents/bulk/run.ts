import { rm } from 'node:fs/promises'
import { isInterrupted } from '../../../cli/ids.ts'
import { formatCount, instanceLabel } from '../../../cli/messages.ts'
import { many, type Output } from '../../../cli/output.ts'
import type { Context } from '../../../context.ts'
import { exitOf as exitOfError } from '../../../errors/explain.ts'
import { report } from '../../../errors/report.ts'
import { rawOf } from '../../../io/input.ts'
import { limitHeapGrowth } from '../../../io/memory.ts'
import { requireApiKey, requireBaseUrl } from '../../../settings/settings.ts'
import { type LineResult, lineView } from '../../../views/consent.ts'
import { creates, honoursKeys } from './creates.ts'
import { openJob } from './job.ts'
import type { LineJob, LineJobOptions, Operation } from './operation.ts'
import { maxErrorsOf } from './options.ts'
import {
  countOutcome,
  countUntaken,
  exitOf,
  newProgress,
  type Progress,
  type ProgressLine,
  printSummary,
  reportError,
  resumeCommand,
  showProgress,
  warnEmpty,
} from './progress.ts'
import {
  type FailedLines,
  InvalidLinesError,
  nothingSent,
  openFailedLines,
  requireLines,
  toLineResult,
  validate,
} from './reader.ts'
import { type Outcome, openSender, type Sender } from './sender.ts'

/**
 * Validates the file first. A failed line does not stop the others, unless all would fail or too many have. Results are
 * in line order.
 */
export function runLineJob(
  ctx: Context,
  options: LineJobOptions,
  operation: Operation = creates(options.site),
): Output<LineResult> {
  ctx.useJsonMessages()
  requireBaseUrl(ctx.settings)
  if (!options.dryRun) requireApiKey(ctx.settings)
  limitHeapGrowth()
  const progress = newProgress(ctx)
  return many(lineView, sendLines(ctx, operation, options, progress), {
    mutates: true,
    resumes: true,
    exit: () => exitOf(progress),
  })
}

interface LineRun {
  readonly ctx: Context
  readonly options: LineJobOptions
  readonly job: LineJob
  readonly progress: Progress
  readonly sender: Sender
  readonly failedLines: FailedLines | null
}

export async function* sendLines(
  ctx: Context,
  operation: Operation,
  options: LineJobOptions,
  progress: Progress,
): AsyncGenerator<readonly LineResult[]> {
  const interruption = new AbortController()
  let run: LineRun | null = null
  // A second signal ends the process.
  ctx.interruption.addEventListener('abort', () => {
    progress.signalExit = exitOfError(ctx.interruption.reason)
    progress.stop ??= 'interrupted'
    run?.sender.stop()
    interruption.abort()
    const command = run && resumeCommand(ctx, options, run.job)
    const next = command ? `to resume: ${command}` : 'this cannot be resumed'
    if (run) void ctx.warn(`interrupted: finishing the requests in flight; ${next}`).catch(() => {})
  })
  let failedLines: FailedLines | null = null
  let job: LineJob | null = null
  try {
    failedLines = options.failedOut === undefined ? null : await openFailedLines(options.failedOut)
    job = yield* openJob(ctx, operation, options, failedLines, interruption.signal)
    if (options.dryRun) return yield* preview(ctx, job, options, failedLines, interruption.signal)
    if (interruption.signal.aborted) return await leaveUnsent(ctx, options, job)
    run = { ctx, options, job, progress, sender: openSender(ctx, options, job), failedLines }
    yield* sendAll(run, interruption.signal)
  } catch (error) {
    if (!(error instanceof InvalidLinesError)) throw error
    progress.broken = error // the results must be complete
    await report(ctx, error)
  } finally {
    await job?.reader.close()
    if (options.workFolder !== undefined) await rm(options.workFolder, { recursive: true, force: true })
    await failedLines?.close(true) // keeps the invalid lines if nothing was sent
  }
}

async function leaveUnsent(ctx: Context, options: LineJobOptions, job: LineJob): Promise<void> {
  await job.state?.close(false)
  const command = resumeCommand(ctx, options, job)
  await ctx.warn(`interrupted: nothing was sent${command === null ? '' : `; to resume: ${command}`}`)
}

async function* preview(
  ctx: Context,
  { operation, reader, extent, doneBefore }: LineJob,
  options: LineJobOptions,
  failedLines: FailedLines | null,
  signal: AbortSignal,
): AsyncGenerator<readonly LineResult[], void> {
  const { lines } = extent ?? (yield* validate(ctx, reader, options, failedLines, signal))
  if (lines === 0) await warnEmpty(ctx, reader)
  await ctx.warn(
    `would ${operation.words.verb} ${formatCount(lines - doneBefore)} on ${instanceLabel(ctx)}; nothing was sent`,
  )
}

async function* sendAll(run: LineRun, signal: AbortSignal): AsyncGenerator<readonly LineResult[]> {
  const { ctx, options, job, progress, failedLines } = run
  const line = showProgress(ctx, progress, job)
  let [isThrough, isDone] = [false, false]
  try {
    yield* results(run, line, signal)
    requireLines(job.reader, progress.last, options.allowEmpty === true || progress.stop !== null)
    isDone = await finish(run)
    isThrough = true
  } catch (error) {
    progress.broken = error
    isDone = progress.last === 0 && options.resume === undefined
    if (progress.last === 0) throw nothingSent(error)
  } finally {
    if (!isThrough) progress.stop ??= 'its result cannot be written' // or a reported error
    countUntaken(progress, job, run.sender.untaken())
    if (isDone) progress.postponed = 0
    await line.end()
    // Without a job, this is the only copy of the failed lines.
    await failedLines?.close(job.state === null).catch(() => {})
    await job.state?.close(isDone)
    if (progress.last > 0 || progress.broken === null) await printSummary(ctx, options, job, progress, isDone)
  }
}

async function* results(run: LineRun, line: ProgressLine, signal: AbortSignal): AsyncGenerator<readonly LineResult[]> {
  try {
    for await (const outcomes of run.sender.outcomes()) {
      if (run.ctx.io.out.isTerminal || outcomes.some(({ error }) => error !== null)) await line.hide()
      const page = await reportOutcomes(run, outcomes)
      if (page.length > 0) yield page
      line.show()
    }
  } catch (error) {
    if (!signal.aborted) throw error // an interrupted stream ends with an error
  }
  if (run.progress.broken !== null) throw run.progress.broken
}

async function reportOutcomes(run: LineRun, outcomes: readonly Outcome[]): Promise<LineResult[]> {
  const page: LineResult[] = []
  for (const outcome of outcomes) {
    const { entry, result, id, error } = outcome
    if (result !== 'unsent') {
      countOutcome(run.progress, run.job, outcome)
      page.push(toLineResult(entry.line, result, id, error))
    }
    if (error !== null) await reportFailure(run, outcome) // awaiting takes longer than the rest
  }
  return page
}

/** If it fails, the run stops after the lines in flight. */
async function reportFailure(
  { options, job, progress, sender, failedLines }: LineRun,
  outcome: Outcome,
): Promise<void> {
  const { entry, result, error } = outcome
  const stop = (reason: unknown) => {
    progress.broken ??= reason
    progress.stop ??= 'broken'
    sender.stop()
  }
  if (result === 'unsent') {
    progress.unsent.push(entry.line.number)
    if (!isInterrupted(exitOfError(error))) stop(error)
    return
  }
  await reportError(progress, job.operation, outcome, maxErrorsOf(options)).catch(stop)
  if (result === 'failed') await failedLines?.add(rawOf(entry.line), job.reader.header()).catch(stop)
}

/** True if no further run is possible. Only then are failed lines saved: otherwise `--resume` sends them too. */
async function finish({ ctx, job, progress, failedLines }: LineRun): Promise<boolean> {
  const { complete } = job.operation
  if (complete) {
    const isDone = progress.stop === null && progress.unfinished === 0
    if (isDone) await complete(ctx, job, progress)
    await failedLines?.close(isDone)
    return isDone
  }
  const canBeFound = async () => progress.unknown > progress.lost && (await honoursKeys(ctx).catch(() => true))
  const isResumable = job.state !== null && (progress.stop !== null || (await canBeFound()))
  if (!isResumable) progress.lost = progress.unknown
  await failedLines?.close(!isResumable)
  return !isResumable && (progress.failed > 0 ? failedLines !== null : progress.unknown === 0)
}
