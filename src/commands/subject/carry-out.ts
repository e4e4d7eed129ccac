import { endsAll, overallExit } from '../../cli/ids.ts'
import { formatCount, instanceLabel, subjectCommand } from '../../cli/messages.ts'
import { many, type Output } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { eraseInBulk, erasesItself } from '../../erasure/bulk.ts'
import { deleteAll, type Outcome } from '../../erasure/delete.ts'
import { receiptFor, verifyGone } from '../../erasure/finish.ts'
import type { Job } from '../../erasure/job.ts'
import type { OpenJob } from '../../erasure/open.ts'
import type { StoredReceipt } from '../../erasure/receipts.ts'
import { type Exit, exit } from '../../errors/errors.ts'
import { exitOf, explain } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { type ErasureRow, erasureView } from '../../views/subject.ts'
import { quotaError } from './quota.ts'

/** How a run goes: why it does not go on, if so, and what the process ends with. */
interface Course {
  readonly failures: Exit[]
  /** What no other record can fare better with. */
  hopeless: unknown
  exit: Exit
}

/** Rows are handed on by so many, as a list has them. */
const rowsAtOnce = 100

/**
 * Does what is left of a job: deletes, verifies, makes the receipt. Gives a row for each record of the job, those of
 * earlier runs first. The journal goes when the receipt is on the disk, and stays whatever else happens.
 */
export function carryOut(open: OpenJob): Output<unknown> {
  const course: Course = { failures: [], hopeless: null, exit: exit.done }
  return many(erasureView, run(open, course), { mutates: true, exit: () => course.exit }) as Output<unknown>
}

async function* run(open: OpenJob, course: Course): AsyncGenerator<readonly ErasureRow[]> {
  const { ctx, job, journal } = open
  let stored: StoredReceipt | null = null
  try {
    const before = [...job.done.values()]
    if (before.length > 0) yield before
    yield* deletion(open, course)
    if (course.failures.length === 0) {
      ctx.interruption.throwIfAborted()
      const verification = await verifyGone(ctx, job.header.subjects)
      await journal.requireHeld()
      stored = await receiptFor(ctx, job, verification)
    } else course.exit = overallExit(job.done.size, course.failures)
  } catch (error) {
    course.exit = exitOf(error)
    await report(ctx, error)
  } finally {
    await journal.close(stored !== null)
  }
  if (stored) course.exit = await tellReceipt(ctx, stored)
  else await tellResumption(open)
}

/** Deletes record by record; where the quota ends, the service does the rest itself, if it can and may. */
async function* deletion(open: OpenJob, course: Course): AsyncGenerator<readonly ErasureRow[]> {
  const { ctx, job } = open
  if (job.isErased) return
  if (!isBegunInBulk(job)) {
    yield* oneByOne(open, course)
    ctx.interruption.throwIfAborted()
    if (course.hopeless === null && !isBulkJob(job)) return
    if (course.hopeless !== null && exitOf(course.hopeless) !== exit.quota) throw course.hopeless
    if (course.hopeless !== null && (job.header.is_exact || !(await erasesItself(ctx))))
      throw quotaError(course.hopeless)
  }
  await ctx.say('the service erases what is left itself, as no quota keeps it from')
  const known = new Set(job.done.keys())
  await eraseInBulk(open)
  course.failures.length = 0 // whatever failed before is erased now
  yield [...job.done.values()].filter(({ id }) => !known.has(id))
}

async function* oneByOne(open: OpenJob, course: Course): AsyncGenerator<readonly ErasureRow[]> {
  const { ctx } = open
  let rows: ErasureRow[] = []
  const isStopped = () => course.hopeless !== null || ctx.interruption.aborted
  for await (const outcome of deleteAll(open, isStopped)) {
    if (outcome.record) rows.push(outcome.record)
    else if (!(await isFatal(ctx, course, outcome))) rows.push(failed(outcome))
    if (rows.length < rowsAtOnce) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}

/** A job without a plan is one that only the service itself can do. */
function isBulkJob({ header }: Job): boolean {
  return header.plan_sha256 === null
}

/** What the service may have erased itself is told by its numbers alone, and it has to go on so. */
function isBegunInBulk({ answers, lostAnswers }: Job): boolean {
  return answers.length > 0 || lostAnswers > 0
}

/** Tells of a failure, unless it is one that all others share: that is told once, at the end. */
async function isFatal(ctx: Context, course: Course, { target, error }: Outcome): Promise<boolean> {
  const code = exitOf(error)
  if (endsAll(code) || code === exit.failure || explain(error).code === 'busy') {
    course.hopeless ??= error
    return true
  }
  course.failures.push(code)
  await report(ctx, error, target.id)
  return false
}

function failed({ target }: Outcome): ErasureRow {
  return { ...target, result: 'failed', deleted_at: null, request_id: null }
}

/** Says what was done, and where the proof is; the exit code. */
export async function tellReceipt(ctx: Context, { path, receipt }: StoredReceipt): Promise<Exit> {
  const { counts, verification, result, number, due_at } = receipt
  const erased = counts.deleted + counts.deleted_in_bulk
  const already = counts.already_gone > 0 ? `, ${counts.already_gone} gone already` : ''
  const unknown = counts.unknown > 0 ? `, ${counts.unknown} gone and not known by whom` : ''
  const where = instanceLabel(ctx)
  const unseen = verification.deleted === null ? '; records deleted before were not shown' : ''
  const said: Partial<Record<typeof result, string>> = {
    no_data_held: `no data held on ${where}${unseen}`,
    nothing_live: `nothing live on ${where}; ${formatCount(verification.deleted ?? 0)} deleted before, and held until the purge`,
  }
  await ctx.say(
    said[result] ?? `erased ${formatCount(erased)}${already}${unknown} on ${where}: ${receipt.statement}`,
  )
  await ctx.say(`receipt ${number}: ${path}`)
  if (due_at !== null && due_at < receipt.finished_at.slice(0, 10))
    await ctx.warn(`the request was due on ${due_at}`)
  if (verification.live === 0) return exit.done
  const ids = verification.remaining.slice(0, 3).map(({ id }) => id)
  await ctx.warn(`${formatCount(verification.live)} of the subject remained or came anew: ${ids.join(', ')}`)
  await ctx.warn('to erase them too, run the same command once more')
  return exit.partial
}

async function tellResumption({ ctx, job }: OpenJob): Promise<void> {
  const { targets, done, isErased } = job
  const left = `${targets.size - done.size} of ${formatCount(targets.size)}`
  const what = !isErased && isBulkJob(job) ? 'the records are not all' : `${left} not`
  const command = subjectCommand(ctx, 'resume', job.header.job)
  await ctx.warn(`${what} erased yet, and there is no receipt; to go on: ${command}`)
}
