import type { Context } from '../../../context.ts'
import { explain } from '../../../errors/explain.ts'
import { inOrderTogether } from '../../../io/concurrency.ts'
import { inGroups } from '../../../io/groups.ts'
import { rawOf } from '../../../io/input.ts'
import type { LineResult } from '../../../views/import.ts'
import { bytesOf, senderOf } from './batch.ts'
import { nothingSent } from './check.ts'
import { type FailedOut, openFailedOut } from './failed.ts'
import type { BulkOptions, Job } from './job.ts'
import { linesAtOnce } from './known.ts'
import { type Noted, noting } from './noted.ts'
import { type Progress, showProgress } from './progress.ts'
import { create, honoursKey, itemsOf } from './send.ts'
import { count, heed, type Tally, until } from './tally.ts'
import { tell } from './tell.ts'

/** Lines noted before their turn, for each request that may be under way. */
const notedAhead = 8

/** One run of a job. */
export interface Run {
  readonly ctx: Context
  readonly options: BulkOptions
  readonly job: Job
  readonly tally: Tally
}

/** Sends the lines and yields what became of each; tells at the end how it went, and how to go on. */
export async function* send(run: Run): AsyncGenerator<readonly LineResult[]> {
  const { ctx, options, job, tally } = run
  const progress = showProgress(ctx, () => progressOf(run))
  let failedOut: FailedOut | null = null
  let [isThrough, isOver] = [false, false]
  try {
    failedOut = options.failedOut === undefined ? null : await openFailedOut(options.failedOut, ctx.host.pid)
    yield* results(run, failedOut, progress)
    isOver = await finish(run, failedOut)
    isThrough = true
  } catch (error) {
    tally.broken = error
    isOver = tally.last === 0 && options.resume === undefined
    if (tally.last === 0) throw nothingSent(error)
  } finally {
    if (!isThrough) tally.stop ??= 'its result cannot be written' // or what broke it, which is told instead
    await progress.end()
    await failedOut?.close(job.journal === null).catch(() => {}) // without a journal nobody goes on, and these lines are all there is
    await job.journal?.close(isOver)
    if (tally.last > 0 || tally.broken === null) await tell(run, isOver)
  }
}

async function* results(
  { ctx, options, job, tally }: Run,
  failedOut: FailedOut | null,
  progress: Progress,
): AsyncGenerator<readonly LineResult[]> {
  const sender = senderOf(ctx, options, job, tally)
  const ahead = () => (sender.isRepeatable() ? options.concurrency * notedAhead : 0)
  const groups = until(noting(job.journal, inGroups(itemsOf(ctx, job), bytesOf, sender.room), ahead), tally)
  const work = async (group: Noted) => {
    const outcomes = await create(job, group, sender)
    heed(tally, outcomes, options.maxErrors)
    return outcomes
  }
  const room = { limit: options.concurrency, most: linesAtOnce, sizeOf: ({ items }: Noted) => items.length }
  for await (const together of inOrderTogether(groups, room, work)) {
    const results: LineResult[] = []
    for (const outcome of together.flat()) {
      const { entry, result, id, error } = outcome
      if (result === 'unsent') {
        stop(tally, error)
        continue
      }
      if (ctx.io.out.isTerminal || error !== null) await progress.hide()
      // A record that is made is told, whatever cannot be.
      await count(ctx, tally, outcome, options.maxErrors).catch(problem => stop(tally, problem))
      if (result === 'failed') {
        await failedOut?.add(rawOf(entry.line), job.source.header()).catch(problem => stop(tally, problem))
      }
      results.push({
        line: entry.line.number,
        result,
        id,
        error_code: error === null ? null : explain(error).code,
      })
    }
    if (results.length > 0) yield results
    progress.show()
  }
  if (tally.broken !== null) throw tally.broken
}

/** Work that is under way is ended, and told, whatever stops it. */
function stop(tally: Tally, error: unknown): void {
  tally.broken ??= error
  tally.stop ??= 'broken'
}

/**
 * Whether the job is over. Lines to be fed again are handed out only then: those of a job that is gone on with would be
 * sent twice.
 */
async function finish({ ctx, job, tally }: Run, failedOut: FailedOut | null): Promise<boolean> {
  const mayBeFound = async () => tally.unknown > tally.lost && (await honoursKey(ctx).catch(() => true))
  const isResumable = job.journal !== null && (tally.stop !== null || (await mayBeFound()))
  if (!isResumable) tally.lost = tally.unknown
  await failedOut?.close(!isResumable)
  return !isResumable && (tally.failed > 0 ? failedOut !== null : tally.unknown === 0)
}

function progressOf({ job, tally }: Run) {
  const total = tally.created + tally.failed + tally.unknown
  const left = job.extent && Math.max(0, job.extent.lines - Math.max(total, job.before))
  return { sent: Math.max(0, total - job.before), failed: tally.failed, left }
}
