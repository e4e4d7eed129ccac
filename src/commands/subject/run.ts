import { endsAll, isInterrupted, overallExit } from '../../cli/ids.ts'
import { formatCount, instanceLabel, subjectCommand } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import { changeRequest, closeCommand } from '../../cli/register.ts'
import type { Context } from '../../context.ts'
import { type DoneRecord, type ErasureJob, type PersonState, recordDone } from '../../erasure/job.ts'
import { sendUnkept } from '../../erasure/kept.ts'
import type { Processed } from '../../erasure/processing.ts'
import { type EarlierReceipts, findMadeReceipt, type StoredReceipt } from '../../erasure/receipts.ts'
import { mayBeDone, restOf } from '../../erasure/state.ts'
import { type Exit, exit } from '../../errors/errors.ts'
import { exitOf, explain } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import type { Signer } from '../../receipts/signer.ts'
import { sha256 } from '../../receipts/store.ts'
import { type PersonRow, personView } from '../../views/subject.ts'
import { tellUnplanned } from './near.ts'
import { describeReceiptOnTerminal, operationOf, quotaError, remainingOf, viewOf } from './operations.ts'

interface Progress {
  readonly failures: Exit[]
  /** An error that would affect all other records too, so it ends the run. */
  fatal: unknown
  exit: Exit
  stored: StoredReceipt | null
}

/** `signer`: null if all receipts exist, and only the register needs an update. */
export interface Signing {
  readonly signer: Signer | null
  /** Null for a new job. */
  readonly earlier: EarlierReceipts | null
}

const rowsPerPage = 100

/**
 * Yields a row for each record of one person, those of earlier runs first, or for each of several people. The job file
 * stays until all receipts are on disk and in the register.
 */
export function runJob(job: ErasureJob, signing: Signing): Output<unknown> {
  const { ctx, held, people, done } = job
  const codes: Exit[] = []
  const isOne = isOfOne(job)
  async function* pages(): AsyncGenerator<readonly unknown[]> {
    try {
      for (const state of people.filter(each => !done.has(each))) {
        const progress: Progress = { failures: [], fatal: null, exit: exit.done, stored: null }
        const rows = erasePerson(job, state, signing, progress)
        if (isOne) yield* rows
        else {
          for await (const _ of rows);
          yield [toPersonRow(job, state, progress)]
        }
        codes.push(progress.exit)
        if (endsRun(progress.exit)) break
      }
    } finally {
      await held.close(done.size === people.length)
    }
    const left = people.length - done.size
    if (!isOne && left > 0)
      await ctx.warn(`${left} of ${formatPeople(people.length)} not finished; to resume: ${resumeCommand(job)}`)
    await sendMade(job, signing)
  }
  const code = () =>
    overallExit(
      done.size,
      codes.filter(each => each !== exit.done),
    )
  return many<unknown>(isOne ? operationOf(job).view : personView, pages(), {
    mutates: true,
    exit: code,
  }) as Output<unknown>
}

async function sendMade({ ctx, done }: ErasureJob, { signer }: Signing): Promise<void> {
  if (signer && done.size > 0 && !ctx.interruption.aborted) await sendUnkept(ctx, signer.store)
}

export function formatPeople(count: number): string {
  return count === 1 ? '1 person' : `${count} people`
}

function isOfOne({ held }: ErasureJob): boolean {
  return held.header.source === null
}

function resumeCommand({ ctx, held }: ErasureJob): string {
  return subjectCommand(ctx, 'resume', held.header.job)
}

function toPersonRow({ held }: ErasureJob, { order, targets }: PersonState, { stored }: Progress): PersonRow {
  if (stored) return toReceiptRow(stored)
  return { ticket: order.ticket, records: targets.size, result: 'failed', receipt: null, job: held.header.job }
}

function toReceiptRow({ receipt: { ticket, records, result, number, job } }: StoredReceipt): PersonRow {
  return { ticket, records: records.length, result, receipt: number, job }
}

export async function tellFinished(ctx: Context, made: readonly StoredReceipt[]): Promise<Output<unknown>> {
  let code: Exit = exit.done
  for (const each of made) code = (await tellReceipt(ctx, each)) || code
  const [first, ...others] = made
  if (first && others.length === 0)
    return many<unknown>(viewOf(first), pagesOf<unknown>(first.receipt.records), {
      exit: () => code,
    }) as Output<unknown>
  return many(personView, pagesOf(made.map(toReceiptRow)), { exit: () => code }) as Output<unknown>
}

/** True if the others would probably fail too. */
function endsRun(code: Exit): boolean {
  return endsAll(code) || [exit.usage, exit.temporary, exit.unknown, exit.failure].some(each => each === code)
}

async function* erasePerson(
  job: ErasureJob,
  state: PersonState,
  signing: Signing,
  progress: Progress,
): AsyncGenerator<readonly unknown[]> {
  const { ctx, held } = job
  let isMade = false
  try {
    ctx.interruption.throwIfAborted()
    await held.requireHeld()
    progress.stored = signing.earlier && (await findMadeReceipt(signing.earlier, state))
    isMade = progress.stored !== null
    if (progress.stored) yield progress.stored.receipt.records
    else yield* makeErased(job, state, signing, progress)
  } catch (error) {
    progress.exit = exitOf(error)
    if (!isInterrupted(progress.exit)) await report(ctx, error, isOfOne(job) ? undefined : state.order.ticket)
  }
  if (!progress.stored) return await tellUnfinished(job, state, progress.exit)
  const failed = await registerReceipt(ctx, state, progress.stored)
  if (!failed) await recordDone(job, state)
  progress.exit = await tellReceipt(ctx, progress.stored)
  await tellUnplanned(ctx, { ...state.order, isLine: !isOfOne(job) }, state.targets.values(), operationOf(job).target)
  if (failed && isMade && progress.exit === exit.done) progress.exit = exitOf(failed.error)
  await tellRegistration(job, state, failed)
}

/** Sets `stored`, unless records could not be deleted. */
async function* makeErased(
  job: ErasureJob,
  state: PersonState,
  { signer }: Signing,
  progress: Progress,
): AsyncGenerator<readonly unknown[]> {
  const { ctx, held } = job
  if (state.done.size > 0) yield [...state.done.values()]
  yield* processPages(job, state, progress)
  ctx.interruption.throwIfAborted()
  if (progress.fatal !== null) throw progress.fatal
  progress.exit = overallExit(state.done.size, progress.failures)
  if (progress.failures.length > 0 || !signer) return
  const make = await operationOf(job).verify(job, state)
  await held.requireHeld()
  progress.stored = await make(signer)
}

async function* processPages(
  job: ErasureJob,
  state: PersonState,
  progress: Progress,
): AsyncGenerator<readonly unknown[]> {
  const { ctx } = job
  let rows: unknown[] = []
  const isStopped = () => progress.fatal !== null || ctx.interruption.aborted
  const { process, toFailedRow } = operationOf(job)
  for await (const page of process(job, state, isStopped)) {
    for (const each of page) {
      if (each.record) rows.push(each.record)
      else if (!(await isFatal(ctx, progress, each))) rows.push(toFailedRow(each.target))
    }
    if (rows.length < rowsPerPage) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}

async function isFatal(ctx: Context, progress: Progress, { target, error }: Processed<DoneRecord>): Promise<boolean> {
  const code = exitOf(error)
  if (endsAll(code) || code === exit.failure || explain(error).code === 'busy') {
    progress.fatal ??= code === exit.quota ? quotaError(error) : error
    return true
  }
  progress.failures.push(code)
  await report(ctx, error, target.id)
  return false
}

/** To stderr. */
export async function tellReceipt(ctx: Context, stored: StoredReceipt): Promise<Exit> {
  const { path, receipt } = stored
  const { number, due_at } = receipt
  await ctx.say(describeReceiptOnTerminal(stored, instanceLabel(ctx)))
  await ctx.say(`receipt ${number}: ${path}`)
  if (due_at !== null && due_at < receipt.finished_at.slice(0, 10)) await ctx.warn(`the request was due on ${due_at}`)
  const { ids, left, again } = remainingOf(stored)
  if (ids.length === 0) return exit.done
  await ctx.warn(`${left}: ${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ', …' : ''}`)
  await ctx.warn(again)
  return exit.partial
}

async function tellUnfinished(job: ErasureJob, state: PersonState, code: Exit): Promise<void> {
  const { targets, done, order } = state
  const left = targets.size - done.size
  const isUnknown = restOf(state).some(({ id }) => mayBeDone(state, id))
  const { participle } = operationOf(job)
  const areDone = [...done.values()].every(({ result }) => result !== 'unknown' && result !== 'remaining')
  const what =
    left > 0
      ? `${left} of ${formatCount(targets.size)} ${isUnknown ? 'may not be' : 'not'} ${participle} yet, so no receipt was made`
      : `${formatCount(targets.size)} ${areDone ? participle : 'processed'}, and the receipt is not made yet`
  const told = `${isInterrupted(code) ? 'interrupted: ' : ''}${what}`
  await job.ctx.warn(isOfOne(job) ? `${told}; to resume: ${resumeCommand(job)}` : `${order.ticket}: ${told}`)
}

/** Returns an error instead of throwing it: the erasure is done. */
async function registerReceipt(
  { api }: Context,
  { order: { request_id } }: PersonState,
  { bytes, receipt: { type } }: StoredReceipt,
): Promise<{ readonly error: unknown } | null> {
  if (!request_id) return null
  try {
    await changeRequest(api, request_id, { receipt: { type, sha256: sha256(bytes) } })
    return null
  } catch (error) {
    return { error }
  }
}

async function tellRegistration(
  job: ErasureJob,
  { order: { request_id, ticket } }: PersonState,
  failed: { readonly error: unknown } | null,
): Promise<void> {
  const { ctx } = job
  if (failed) {
    await report(ctx, failed.error)
    await ctx.warn(
      `the ${operationOf(job).noun} is done, but its receipt’s digest could not be added to the register; to add it: ${resumeCommand(job)}`,
    )
  } else if (request_id)
    await ctx.say(`the register has the digest of the receipt; once the person has the answer: ${closeCommand(ticket)}`)
}
