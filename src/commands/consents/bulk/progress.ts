import { commandLike, formatCount, instanceLabel } from '../../../cli/messages.ts'
import type { Context } from '../../../context.ts'
import { type Exit, exit } from '../../../errors/errors.ts'
import { explain } from '../../../errors/explain.ts'
import { report, reportsByKind } from '../../../errors/report.ts'
import type { LineJob, LineJobOptions, Operation } from './operation.ts'
import type { Reader } from './reader.ts'
import { failsAll, type Outcome } from './sender.ts'

export type Progress = ReturnType<typeof newProgress>

export function newProgress(ctx: Context) {
  return {
    done: 0,
    unchanged: 0,
    unanswered: 0,
    failed: 0,
    unknown: 0,
    /** Unknown, and never sent again. */
    lost: 0,
    /** Neither done nor rejected: resent if there is a job. */
    unfinished: 0,
    /** Failed, but resent by a later run. */
    postponed: 0,
    unsent: [] as number[],
    /** 0 before the first line. */
    last: 0,
    /** Follows "stopped after line N: "; null while running. */
    stop: null as string | null,
    /** Exit code of an error that would affect all further lines. */
    stopExit: null as Exit | null,
    /** An error that no line caused, such as a write error. */
    broken: null as unknown,
    firstExit: exit.done as Exit,
    signalExit: null as Exit | null,
    errors: reportsByKind(ctx),
  }
}

export function countOutcome(progress: Progress, { operation, state }: LineJob, outcome: Outcome): void {
  const { entry, result, how, error } = outcome
  progress.last = entry.line.number
  progress[result in progress ? (result as 'failed') : 'done'] += 1
  if (how === 'unanswered') progress.unanswered += 1
  if (error === null) return
  const { code, exit: exitCode } = explain(error)
  if (code === 'lost') progress.lost += 1
  if (!failsAll(operation, error) && exitCode !== exit.temporary && exitCode !== exit.unknown) return
  progress.unfinished += 1
  if (result === 'failed' && state) progress.postponed += 1
}

/** Sent, but their results can no longer be written. */
export function countUntaken(progress: Progress, job: LineJob, outcomes: readonly Outcome[]): void {
  const { last } = progress
  for (const outcome of outcomes) if (outcome.result !== 'unsent') countOutcome(progress, job, outcome)
  progress.last = last
}

/** Skips an error that repeats the one that stopped the job. */
export async function reportError(
  progress: Progress,
  operation: Operation,
  { entry, result, error }: Outcome,
  maxErrors: number,
): Promise<void> {
  const { exit: exitCode } = explain(error)
  const endsJob = failsAll(operation, error)
  if (progress.firstExit === exit.done) progress.firstExit = exitCode
  const isHinted = result !== 'unknown' || exitCode !== exit.unknown // the summary has one hint for all lost answers
  if (progress.stop === null || !endsJob)
    await progress.errors.add(error, nameOf(operation, entry, endsJob), { isHinted })
  if (endsJob) {
    progress.stop ??= 'the lines after it would fail for the same reason'
    progress.stopExit ??= exitCode
  }
  if (progress.failed >= maxErrors) progress.stop ??= `${describeFailed(progress, operation)}, and no more may`
}

/** An error that concerns all records must not name one. */
function nameOf({ nameOf, words }: Operation, entry: Outcome['entry'], endsJob: boolean): string {
  if (nameOf) return endsJob ? words.work : nameOf(entry)
  return `line ${entry.line.number}`
}

/** Such as `2 failed, 5 not created yet`. */
function describeFailed({ failed, postponed }: Progress, { done }: Operation, unread = 0): string {
  const open = postponed + unread
  return `${failed - postponed} failed${open > 0 ? `, ${open} not ${done} yet` : ''}`
}

/** Precedence as in the manual: rejected, unknown, not done yet. */
export function exitOf(progress: Progress): Exit {
  const { broken, done, unchanged, failed, postponed, unknown, firstExit, signalExit } = progress
  const some = done + unchanged + unknown
  if (signalExit !== null) return signalExit
  if (broken !== null) return some > 0 ? exit.partial : explain(broken).exit
  if (failed === postponed && unknown > 0) return exit.unknown
  if (failed === 0) return exit.done
  return some > 0 ? exit.partial : firstExit
}

export type ProgressLine = ReturnType<typeof showProgress>

/** A line redrawn every 300 ms on a terminal, else one every 10 s. Silent with --quiet. */
export function showProgress(ctx: Context, progress: Progress, job: LineJob) {
  const start = Date.now()
  const { err } = ctx.io
  let [isDrawn, isHidden] = [false, false]
  /** Hidden until `show`. */
  const hide = async () => {
    isHidden = true
    if (isDrawn) await err.write('\r\u001b[2K')
    isDrawn = false
  }
  const tell = () => {
    const text = progressText(progress, job, (Date.now() - start) / 1000)
    if (!err.isTerminal) return void ctx.say(text).catch(() => {})
    if (isHidden) return
    isDrawn = true
    void err.write(`\r\u001b[2K${text.slice(0, err.columns - 1)}`).catch(() => {})
  }
  const timer = ctx.globals.quiet ? undefined : setInterval(tell, err.isTerminal ? 300 : 10_000)
  return {
    hide,
    show: () => {
      isHidden = false
    },
    end: async () => {
      clearInterval(timer)
      await hide()
    },
  }
}

function progressText(progress: Progress, { extent, doneBefore, operation }: LineJob, seconds: number): string {
  const total = countReported(progress)
  const sent = Math.max(0, total - doneBefore)
  const left = extent && Math.max(0, extent.lines - Math.max(total, doneBefore))
  const rate = sent / Math.max(seconds, 0.001)
  const rest = left === null || rate === 0 ? '' : `, about ${duration(left / rate)} left`
  const of = left === null ? '' : ` of ${sent + left}`
  return `${sent}${of} lines sent, ${describeFailed(progress, operation)}, ${Math.round(rate)}/s${rest}`
}

function countReported({ done, unchanged, failed, unknown }: Progress): number {
  return done + unchanged + failed + unknown
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`
}

/** `isDone`: no later run can complete more lines. */
export async function printSummary(
  ctx: Context,
  options: LineJobOptions,
  job: LineJob,
  progress: Progress,
  isDone: boolean,
): Promise<void> {
  const { done, unchanged, failed, unknown, last, stop } = progress
  await progress.errors.finish()
  await printStop(ctx, progress, job, isDone)
  if (last === 0 && stop === null) await warnEmpty(ctx, job.reader)
  const earlier = job.doneBefore - job.unchangedBefore
  const before = earlier > 0 ? `, ${earlier} of them in earlier runs` : ''
  const { words } = job.operation
  const unread = isDone || !job.extent ? 0 : job.extent.lines - countReported(progress)
  const same = unchanged > 0 ? `${unchanged} already ${words.unchanged}, ` : ''
  const others = `${same}${describeFailed(progress, job.operation, unread)}${unknown > 0 ? `, ${unknown} unknown` : ''}`
  await ctx.say(`${job.operation.done} ${formatCount(done)} on ${instanceLabel(ctx)}${before}, ${others}`)
  if (failed > 0 && isDone && options.failedOut !== undefined)
    await ctx.say(`the lines that failed are in ${options.failedOut}`)
  const lost = job.state ? progress.lost : unknown
  if (lost > 0)
    await ctx.warn(
      `${formatCount(lost, 'line')} may have been ${job.operation.done} or not: check with consentctl ${words.check} ${lost === 1 ? 'it' : 'them'} again`,
    )
  if (!isDone) await printResume(ctx, options, job, progress, lost)
}

async function printStop(
  ctx: Context,
  progress: Progress,
  { extent, operation }: LineJob,
  isDone: boolean,
): Promise<void> {
  const { broken, signalExit, stop, last, unsent } = progress
  const isAllSent = countReported(progress) === extent?.lines
  if (broken !== null) {
    await report(ctx, broken, `after line ${last}`)
    if (!isAllSent) await ctx.warn('stopped: later lines were not sent')
  } else if (signalExit !== null && !isAllSent) await ctx.say(describeUnsent(last, unsent))
  else if (signalExit !== null && !isDone) await ctx.say(`every line was sent${lacksReceipt(progress, operation)}`)
  else if (stop !== null && !isAllSent) await ctx.warn(`stopped after line ${last}: ${stop}`)
}

function lacksReceipt({ unfinished }: Progress, { complete }: Operation): string {
  return complete && unfinished === 0 ? '; only the receipt is missing, which a resumed run makes' : ''
}

/** Lines are sent concurrently, so some before the last may not have been sent. */
function describeUnsent(last: number, unsent: readonly number[]): string {
  if (last === 0) return 'no line was sent in this run'
  const before = unsent.filter(line => line < last).length
  const more = before === 0 ? '' : `, nor ${before === 1 ? 'was one' : `were ${before}`} before it`
  return `the lines after ${last} were not sent${more}`
}

async function printResume(
  ctx: Context,
  options: LineJobOptions,
  job: LineJob,
  { stop, broken, failed, unknown, signalExit }: Progress,
  lost: number,
): Promise<void> {
  const command = resumeCommand(ctx, options, job)
  const isStopped = stop !== null || broken !== null
  if (signalExit !== null && broken === null) return // the message about the interruption names the command
  if (!command || !(isStopped || failed > 0 || unknown > lost)) return
  const retry = lost > 0 ? 'to retry the others' : `to retry what was not ${job.operation.done}`
  await ctx.warn(`${isStopped ? 'to resume' : retry}: ${command}`)
}

export async function warnEmpty({ warn }: Context, { name, header }: Reader<unknown>): Promise<void> {
  await warn(`${name} has no line${header() ? ' but its header' : ''}`)
}

/** The job contains the file and the change. A resumed run returns the results of every line, which replace those of `--out`. */
export function resumeCommand(
  ctx: Context,
  { failedOut, concurrency, maxErrors, failFast, ignoreQuota, batch }: LineJobOptions,
  { state, operation }: LineJob,
): string | null {
  if (!state) return null
  const { out, output, json, quiet } = ctx.globals
  const again = [
    ...(quiet ? ['-q'] : []),
    ...(output === undefined ? [] : ['-o', output]),
    ...(json === undefined ? [] : [json === true ? '--json' : `--json=${json}`]),
    ...(failedOut === undefined ? [] : ['--failed-out', failedOut]),
    ...(concurrency === undefined ? [] : ['--concurrency', String(concurrency)]),
    ...(maxErrors === undefined ? [] : ['--max-errors', String(maxErrors)]),
    ...(failFast ? ['--fail-fast'] : []),
    ...(ignoreQuota ? ['--ignore-quota'] : []),
    ...(batch === false ? ['--no-batch'] : []),
    ...(out === undefined ? [] : ['--out', out, '--force']),
  ]
  return commandLike(ctx, operation.command, '--resume', state.job, ...again)
}
