import { endsAll, isInterrupted, overallExit } from '../../cli/ids.ts'
import { formatCount, instanceLabel, subjectCommand } from '../../cli/messages.ts'
import { many, type Output } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { type Deletion, markErased } from '../../erasure/by-subject.ts'
import { deleteRest } from '../../erasure/deletion.ts'
import type { RunningJob } from '../../erasure/job.ts'
import { makeReceipt, verifyErased } from '../../erasure/receipt.ts'
import type { StoredReceipt } from '../../erasure/receipts.ts'
import type { ErasureRequest } from '../../erasure/request.ts'
import { describeOnTerminal } from '../../erasure/sentences.ts'
import { mayBeDeleted, restOf } from '../../erasure/state.ts'
import { CliError, type Exit, exit } from '../../errors/errors.ts'
import { exitOf, explain } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { type ErasureRow, erasureView } from '../../views/subject.ts'
import { registerReceipt, tellRegistration } from './registration.ts'

interface Progress {
  readonly failures: Exit[]
  /** Would fail all other records too, so it ends the run. */
  fatal: unknown
  exit: Exit
  stored: StoredReceipt | null
  /** The register needs no more changes. */
  isRegistered: boolean
}

type Signing = Pick<ErasureRequest, 'store' | 'key' | 'account_id' | 'api_key_id'>

const rowsPerPage = 100

/**
 * Yields a row for each record, those of earlier runs first. The job file stays until the receipt is on disk and in the
 * register.
 */
export function runJob(job: RunningJob, signing: Signing): Output<unknown> {
  const { pages, outcome } = beginRun(job, signing)
  return many(erasureView, pages, { mutates: true, exit: () => outcome.exit }) as Output<unknown>
}

/** `outcome` is valid once all pages are read. */
export function beginRun(job: RunningJob, signing: Signing) {
  const outcome: Progress = { failures: [], fatal: null, exit: exit.done, stored: null, isRegistered: false }
  return { pages: run(job, signing, outcome), outcome }
}

async function* run(job: RunningJob, signing: Signing, progress: Progress): AsyncGenerator<readonly ErasureRow[]> {
  const { ctx, state, held } = job
  let unregistered: Awaited<ReturnType<typeof registerReceipt>> = null
  try {
    if (state.done.size > 0) yield [...state.done.values()]
    yield* deletePages(job, progress)
    ctx.interruption.throwIfAborted()
    if (progress.fatal !== null) throw progress.fatal
    if (progress.failures.length === 0) {
      await markErased(ctx.api, state)
      const verified = await verifyErased(ctx.api, state.header).catch(explainQuota)
      await held.requireHeld()
      progress.stored = await makeReceipt(signing, state, verified)
      unregistered = await registerReceipt(ctx, state.header, progress.stored)
      progress.isRegistered = unregistered === null
    } else progress.exit = overallExit(state.done.size, progress.failures)
  } catch (error) {
    progress.exit = exitOf(error)
    if (!isInterrupted(progress.exit)) await report(ctx, error)
  } finally {
    await held.close(progress.isRegistered)
  }
  const { stored } = progress
  if (!stored) return await tellUnfinished(job, progress.exit)
  progress.exit = await tellReceipt(ctx, stored)
  await tellRegistration(ctx, state.header, unregistered)
}

async function* deletePages(job: RunningJob, progress: Progress): AsyncGenerator<readonly ErasureRow[]> {
  const { ctx } = job
  let rows: ErasureRow[] = []
  const isStopped = () => progress.fatal !== null || ctx.interruption.aborted
  for await (const deletions of deleteRest(job, isStopped)) {
    for (const deletion of deletions) {
      if (deletion.record) rows.push(deletion.record)
      else if (!(await isFatal(ctx, progress, deletion))) rows.push(toFailedRow(deletion))
    }
    if (rows.length < rowsPerPage) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}

/** Reports the error, unless it is fatal and reported at the end. */
async function isFatal(ctx: Context, progress: Progress, { target, error }: Deletion): Promise<boolean> {
  const code = exitOf(error)
  if (endsAll(code) || code === exit.failure || explain(error).code === 'busy') {
    progress.fatal ??= code === exit.quota ? quotaError(error) : error
    return true
  }
  progress.failures.push(code)
  await report(ctx, error, target.id)
  return false
}

function toFailedRow({ target: { id, site_id } }: Deletion): ErasureRow {
  return { id, site_id, result: 'failed', deleted_at: null, request_id: null }
}

/** On stderr. */
export async function tellReceipt(ctx: Context, { path, receipt }: StoredReceipt): Promise<Exit> {
  const { verification, number, due_at } = receipt
  await ctx.say(describeOnTerminal(receipt, instanceLabel(ctx)))
  await ctx.say(`receipt ${number}: ${path}`)
  if (due_at !== null && due_at < receipt.finished_at.slice(0, 10)) await ctx.warn(`the request was due on ${due_at}`)
  if (verification.live === 0) return exit.done
  const ids = verification.remaining.slice(0, 3).map(({ id }) => id)
  await ctx.warn(`not erased: ${ids.join(', ')}${verification.live > ids.length ? ', …' : ''}`)
  await ctx.warn('to erase them too, run the same command again')
  return exit.partial
}

async function tellUnfinished({ ctx, state }: RunningJob, code: Exit): Promise<void> {
  const { targets, done, header } = state
  const left = targets.size - done.size
  const command = subjectCommand(ctx, 'resume', header.job)
  const isUnknown = restOf(state).some(({ id }) => mayBeDeleted(state, id))
  const erased = isUnknown ? 'may not be erased yet' : 'not erased yet'
  const areErased = [...done.values()].every(({ result }) => result === 'deleted' || result === 'already_gone')
  const what =
    left > 0
      ? `${left} of ${formatCount(targets.size)} ${erased}, so no receipt was made`
      : `${formatCount(targets.size)} ${areErased ? 'erased' : 'processed'}, and the receipt is not made yet`
  await ctx.warn(`${isInterrupted(code) ? 'interrupted: ' : ''}${what}; to resume: ${command}`)
}

export function explainQuota(error: unknown): never {
  throw exitOf(error) === exit.quota ? quotaError(error) : error
}

/** Only an erasure by record needs quota. */
export function quotaError(cause: unknown): CliError {
  return new CliError('quota_exceeded', exit.quota, 'the monthly quota is used up', {
    hint: 'wait for the next calendar month (UTC) or raise the quota of the account, then resume',
    cause,
  })
}
