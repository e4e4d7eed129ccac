import { randomUUID } from 'node:crypto'
import { type ConfirmOptions, mustPrompt, promptToConfirm, requireConfirmedCount } from '../../cli/confirm.ts'
import { endsAll, overallExit } from '../../cli/ids.ts'
import { formatCount, instanceLabel, subjectCommand } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import { startInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { requireSameAccount } from '../../erasure/account.ts'
import { type Batch, createBatch, erasureBatches, type PlannedPerson, resumeBatch } from '../../erasure/batch.ts'
import { erasureJobs, type RunningJob, readState, recordPlan } from '../../erasure/job.ts'
import { makePlan, requireAsPlanned } from '../../erasure/plan.ts'
import { findReceiptOfJob, type StoredReceipt } from '../../erasure/receipts.ts'
import type { SubjectRequest } from '../../erasure/request.ts'
import { apply, newState } from '../../erasure/state.ts'
import { CliError, type Exit, exit } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { declinedError, prompt } from '../../io/prompt.ts'
import { requireAppendable } from '../../receipts/chain.ts'
import { identify, openSigner, type Signer } from '../../receipts/signer.ts'
import { requireBaseUrl, requireSameOrigin } from '../../settings/settings.ts'
import { type PersonRow, personView } from '../../views/subject.ts'
import { type Found, findRecords, requireEraseScope, toHeader } from './found.ts'
import { rejectOnlyNear, tellLeftOut } from './near.ts'
import { readPeople } from './people.ts'
import { registerReceipt, tellRegistration } from './registration.ts'
import { findRepeated } from './repeat.ts'
import { beginRun, tellReceipt } from './run.ts'

interface BatchOptions extends ConfirmOptions {
  readonly reason?: string | undefined
  readonly dryRun?: true | undefined
  readonly showSubject?: true | undefined
}

interface Planned {
  readonly asked: SubjectRequest
  readonly found: Found
}

/** One plan and one confirmation; a job and a receipt for each person. */
export async function eraseFile(ctx: Context, file: string, options: BatchOptions): Promise<Output<unknown>> {
  const asks = needsPrompt(ctx, options, file === '-')
  return await erasePeople(ctx, file, await readPeople(ctx, file, options.reason ?? null), { ...options, asks })
}

/** Only those whose records are live again. */
export async function repeatErasures(ctx: Context, time: string, options: BatchOptions): Promise<Output<unknown>> {
  const asks = needsPrompt(ctx, options, false)
  const since = new Date(startInstant(time, new Date())).toISOString()
  const { people, isPartial } = await findRepeated(ctx, since, options.reason ?? null)
  const code = isPartial ? exit.partial : exit.done
  if (people.length === 0) {
    await ctx.say(`no record of a receipt since ${since} is live${isPartial ? ', but for those left out' : ''}`)
    return many(personView, pagesOf([]), { exit: () => code }) as Output<unknown>
  }
  const output = await erasePeople(ctx, `the receipts since ${since}`, people, { ...options, asks })
  const exitOfAll = () => output.exit?.() ?? exit.done
  return { ...output, exit: () => (exitOfAll() === exit.done ? code : exitOfAll()) }
}

function needsPrompt(ctx: Context, options: BatchOptions, stdinInUse: boolean): boolean {
  return !options.dryRun && mustPrompt(ctx, options, { action: 'erase', stdinInUse })
}

/** `file`: source of the people. */
async function erasePeople(
  ctx: Context,
  file: string,
  people: readonly SubjectRequest[],
  options: BatchOptions & { readonly asks: boolean },
): Promise<Output<unknown>> {
  const { dryRun, confirm, asks, showSubject = false } = options
  const key = dryRun ? null : await identify(ctx.api)
  const signer = key && (await openSigner(ctx, undefined, key))
  const plans: Planned[] = []
  for (const asked of people) plans.push({ asked, found: await find(ctx, asked) })
  const total = plans.reduce((sum, { found }) => sum + found.targets.length, 0)
  if (!key || !signer) {
    await ctx.say(`${formatPeople(plans.length)}, ${formatCount(total)} on ${instanceLabel(ctx)}: nothing was deleted`)
    return many(personView, pagesOf(plans.map(toPlannedRow))) as Output<unknown>
  }
  await requireEraseScope(
    ctx,
    key,
    plans.map(({ found }) => found),
  )
  await requireAppendable(signer.store)
  requireConfirmedCount({ confirm }, total, 'record', 'erased')
  if (total > 0 || (!asks && confirm === undefined)) rejectMistyped(ctx, plans)
  if (total > 0 && !asks)
    await tellLeftOut(
      ctx,
      plans.flatMap(({ found }) => found.near),
      'erased',
    )
  await review(ctx, plans, total, asks)
  const id = randomUUID()
  const header = {
    version: 1 as const,
    job: id,
    profile: signer.profile,
    base_url: requireBaseUrl(ctx.settings),
    file,
    people: plans.length,
    started_at: new Date().toISOString(),
  }
  const batch = await createBatch(
    ctx,
    header,
    plans.map(({ asked, found }) => toPerson(signer, { ...asked, shows_subject: showSubject }, found, id)),
  )
  return runBatch(ctx, batch, signer)
}

/** The confirmed total does not include a person with only near matches. @throws CliError `near_matches` (exit 5) */
function rejectMistyped(ctx: Context, plans: readonly Planned[]): void {
  for (const { asked, found } of plans)
    if (found.targets.length === 0) rejectOnlyNear(ctx, { ...asked, isLine: true }, found.near)
}

const find = (ctx: Context, asked: SubjectRequest) =>
  findRecords(ctx, { asked, given: null, files: null, isLine: true })

function toPerson(
  signer: Signer,
  asked: SubjectRequest & { readonly shows_subject: boolean },
  found: Found,
  batch: string,
): PlannedPerson {
  const plan = found.records && makePlan(asked, signer, found.records)
  const origin = { planned_by: null, plan_sha256: plan?.sha256 ?? null, export_sha256: null }
  return { header: { ...toHeader({ ...signer, ...asked }, found, origin), batch }, targets: found.targets }
}

/** @throws CliError `declined` (exit 9), `changed` (exit 10) if records changed during the prompt */
async function review(ctx: Context, plans: readonly Planned[], total: number, asks: boolean): Promise<void> {
  const where = instanceLabel(ctx)
  await ctx.say(`${formatPeople(plans.length)}, ${formatCount(total)} on ${where}`)
  if (!asks) return
  if (total === 0) {
    const question = `Make ${formatCount(plans.length, 'receipt')} that nothing is held? [y/N] `
    const answer = await prompt(ctx.io, question, ctx.interruption)
    if (!/^y(es)?$/i.test(answer.trim())) throw declinedError()
  } else
    await promptToConfirm(ctx, personView, plans.map(toPlannedRow), { action: 'erase', noun: 'record', where, total })
  for (const { asked, found } of plans) {
    const now = await find(ctx, asked)
    requireAsPlanned(found.targets, now.targets)
  }
}

function toPlannedRow({ asked: { ticket }, found: { targets } }: Planned): PersonRow {
  return { ticket, records: targets.length, result: 'planned', receipt: null, job: null }
}

function formatPeople(count: number): string {
  return count === 1 ? '1 person' : `${count} people`
}

/** `wanted`: a batch, one of its jobs, or `last` for the newest unfinished one. */
export async function findBatch(ctx: Context, wanted: string): Promise<string | null> {
  const batches = erasureBatches(ctx)
  const all = await batches.list()
  if (all.length === 0 || all.includes(wanted)) return all.length === 0 ? null : wanted
  if (wanted === 'last') return await batches.find('last').catch(() => null)
  const header = await erasureJobs(ctx)
    .readHeader(wanted)
    .catch(() => null)
  return header?.batch !== undefined && all.includes(header.batch) ? header.batch : null
}

/** @throws CliError as `subject resume` */
export async function continueBatch(ctx: Context, job: string): Promise<Output<unknown>> {
  const header = await erasureBatches(ctx).readHeader(job)
  requireSameOrigin(ctx.settings, header, `consentctl subject resume ${job}`)
  const batch = await resumeBatch(ctx, job)
  if (batch === null)
    throw new CliError('not_begun', exit.temporary, `the job ${job} was killed before anything was deleted`, {
      hint: 'run consentctl subject erase again',
    })
  try {
    const signer = await openSigner(ctx)
    await requireAppendable(signer.store)
    await requireAccount(ctx, batch, signer)
    return runBatch(ctx, batch, signer)
  } catch (error) {
    await batch.held.close(false)
    throw error
  }
}

async function requireAccount(ctx: Context, { people, done }: Batch, signer: Signer): Promise<void> {
  const person = people.find(({ header, targets }) => !done.has(header.job) && targets.length > 0)
  if (!person) return
  const state = newState(person.header)
  for (const target of person.targets) apply(state, ['p', target])
  await requireSameAccount(ctx.api, state, signer)
}

/** A row for each person left by earlier runs. */
function runBatch(ctx: Context, batch: Batch, signer: Signer): Output<unknown> {
  const { held, people, done } = batch
  const codes: Exit[] = []
  async function* pages(): AsyncGenerator<readonly PersonRow[]> {
    try {
      for (const person of people.filter(({ header }) => !done.has(header.job))) {
        const { row, code, isDone } = await erasePerson(ctx, batch, person, signer)
        if (isDone) await recordDone(batch, person)
        codes.push(code)
        yield [row]
        if (isFatal(code)) break
      }
    } finally {
      await held.close(done.size === people.length)
    }
    if (done.size === people.length) return
    const left = `${people.length - done.size} of ${formatPeople(people.length)}`
    await ctx.warn(`${left} not finished; to resume: ${subjectCommand(ctx, 'resume', held.header.job)}`)
  }
  const failures = () => codes.filter(code => code !== exit.done)
  const extra = { mutates: true, exit: () => overallExit(done.size, failures()) }
  return many(personView, pages(), extra) as Output<unknown>
}

async function recordDone({ held, done }: Batch, { header: { job } }: PlannedPerson): Promise<void> {
  await held.append(['d', job])
  done.add(job)
}

/** True if the others would probably fail too. */
function isFatal(code: Exit): boolean {
  return endsAll(code) || [exit.usage, exit.temporary, exit.unknown, exit.failure].some(each => each === code)
}

interface PersonOutcome {
  readonly row: PersonRow
  readonly code: Exit
  /** The receipt exists and is in the register. */
  readonly isDone: boolean
}

async function erasePerson(
  ctx: Context,
  { held }: Batch,
  person: PlannedPerson,
  signer: Signer,
): Promise<PersonOutcome> {
  const { job, ticket } = person.header
  const row = { ticket, records: person.targets.length, job }
  try {
    ctx.interruption.throwIfAborted()
    await held.requireHeld()
    const opened = await openPerson(ctx, person, held.earlierRuns.length > 0, signer)
    if ('receipt' in opened) return await tellMade(ctx, person, opened)
    const { pages, outcome } = beginRun(opened, signer)
    for await (const _ of pages);
    const { stored, isRegistered } = outcome
    const result = stored?.receipt.result ?? 'failed'
    const receipt = stored?.receipt.number ?? null
    return { row: { ...row, result, receipt }, code: outcome.exit, isDone: stored !== null && isRegistered }
  } catch (error) {
    await report(ctx, error, ticket)
    return { row: { ...row, result: 'failed', receipt: null }, code: exitOf(error), isDone: false }
  }
}

async function tellMade(ctx: Context, { header, targets }: PlannedPerson, made: StoredReceipt): Promise<PersonOutcome> {
  const { job, ticket } = header
  const failed = await registerReceipt(ctx, header, made)
  const code = await tellReceipt(ctx, made)
  await tellRegistration(ctx, header, failed)
  const { number, result } = made.receipt
  const row = { ticket, records: targets.length, result, receipt: number, job }
  return { row, code: failed && code === exit.done ? exitOf(failed.error) : code, isDone: failed === null }
}

/** Resumes too, or returns an earlier run's receipt. */
async function openPerson(
  ctx: Context,
  { header, targets }: PlannedPerson,
  isResumed: boolean,
  { store }: Signer,
): Promise<RunningJob | StoredReceipt> {
  const jobs = erasureJobs(ctx)
  const isBegun = isResumed && (await jobs.list()).includes(header.job)
  const made = isResumed ? await findReceiptOfJob(store, header.job) : null
  if (isBegun) {
    const held = await jobs.resume(header.job)
    const state = await readState(held)
    if (!made && state.isPlanned) return { ctx, state, held }
    await held.close(true)
  }
  if (made) return made
  const job = { ctx, state: newState(header), held: await jobs.create(header) }
  try {
    await recordPlan(job, targets)
  } catch (error) {
    await job.held.close(true)
    throw error
  }
  return job
}
