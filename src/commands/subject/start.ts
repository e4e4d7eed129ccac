import { randomUUID } from 'node:crypto'
import { type ConfirmOptions, promptToConfirm, requireConfirmedCount } from '../../cli/confirm.ts'
import { formatCount, instanceLabel, quoteForShell } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import { tellSites } from '../../cli/subjects.ts'
import type { Context } from '../../context.ts'
import type { Consent, DataSubjectRequest, RequestKind } from '../../contract/index.ts'
import { describeHold, marksErased, requireNotHeld } from '../../erasure/deletion.ts'
import { type ExportFiles, writeExport } from '../../erasure/export.ts'
import { createJob, type SubjectRequest } from '../../erasure/job.ts'
import { makePlan, type PlanFile, requireAsPlanned, toPlanned } from '../../erasure/plan.ts'
import {
  askForErasable,
  countBySite,
  erasesSubjects,
  findHoldsOf,
  liveRecords,
  type NearMatch,
  type Target,
  toTargets,
} from '../../erasure/records.ts'
import { exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { declinedError, prompt } from '../../io/prompt.ts'
import { openSigner, requireEverySite, requireScope, type Signer } from '../../receipts/signer.ts'
import { requireAppendable } from '../../receipts/store.ts'
import { consentView } from '../../views/consent.ts'
import { type ErasureRow, erasureView, type PersonRow, personView } from '../../views/subject.ts'
import { rejectOnlyNear, tellLeftOut, tellProofs, tellUnplanned, warnOfNear } from './near.ts'
import { quotaError } from './operations.ts'
import { formatPeople, runJob } from './run.ts'

export interface Order {
  readonly people: readonly SubjectRequest[]
  /** The file, or another origin of several people; null for one person. */
  readonly source: string | null
  readonly sha256?: string
  readonly given: PlanFile | null
  /** Written before the deletion. */
  readonly files: ExportFiles | null
}

interface StartOptions extends ConfirmOptions {
  readonly dryRun?: true | undefined
  readonly showSubject?: true | undefined
  /** True if a prompt is needed. */
  readonly asks: boolean
}

interface Found {
  /** Null if the quota is used up: the service's own erasure returns only ids. */
  readonly records: readonly Consent[] | null
  readonly targets: readonly Target[]
}

interface Planned extends Found {
  readonly asked: SubjectRequest
  /** Never erased. */
  readonly near: readonly NearMatch[]
}

/** Uses one plan and one confirmation for all people, then one job. */
export async function startErasure(ctx: Context, order: Order, options: StartOptions): Promise<Output<unknown>> {
  const signer = options.dryRun ? null : await openSigner(ctx)
  if (signer) requireEverySite(signer)
  const people = await withoutHeld(ctx, order, signer !== null)
  const plans = await planPeople(ctx, { ...order, people })
  const total = plans.reduce((sum, { targets }) => sum + targets.length, 0)
  const output =
    signer && people.length > 0
      ? await carryOut(ctx, { order, plans, total }, { signer, ...options })
      : await rehearse(ctx, order, plans)
  return people.length < order.people.length ? partly(output) : output
}

async function planPeople(ctx: Context, order: Order): Promise<Planned[]> {
  const isLine = order.source !== null
  const plans: Planned[] = []
  for (const asked of order.people) {
    const near = await warnOfNear(ctx, { ...asked, isLine })
    const found = await findRecords(ctx, asked, order)
    await tellUnplanned(ctx, { ...asked, isLine }, found.targets)
    plans.push({ asked, near, ...found })
  }
  return plans
}

interface Plans {
  readonly order: Order
  readonly plans: readonly Planned[]
  readonly total: number
}

async function carryOut(
  ctx: Context,
  { order, plans, total }: Plans,
  { signer, confirm, asks, showSubject }: StartOptions & { readonly signer: Signer },
): Promise<Output<unknown>> {
  const { source, sha256, given, files } = order
  if (total > 0 || (await marksErased(ctx.api))) requireScope(ctx, signer, 'erase')
  await requireAppendable(signer.store)
  requireConfirmedCount({ confirm }, total, 'record', 'erased')
  if (total > 0 || (!asks && confirm === undefined)) rejectMistyped(ctx, order, plans)
  const near = plans.flatMap(each => each.near)
  if (total > 0 && !asks) await tellLeftOut(ctx, near, 'erased')
  await review(ctx, order, plans, asks)
  const export_sha256 = files && (await exportFirst(ctx, signer, files, plans))
  const planned_by = given && { who: given.plan.who, host: given.plan.host, created_at: given.plan.created_at }
  const planned = plans.map(({ asked, records, targets }) => {
    const { subjects, ticket, reason, received_at, due_at, request_id } = asked
    const plan = records && (given ?? makePlan(asked, signer, records))
    const proof = { planned_by, plan_sha256: plan?.sha256 ?? null, export_sha256 }
    return { person: { subjects, ticket, reason, received_at, due_at, request_id, ...proof }, targets }
  })
  const { who, host, profile, instance, account_id } = signer
  const header = {
    version: 1 as const,
    ...{ job: randomUUID(), profile, base_url: instance, account_id, source, sha256, who, host },
    shows_subject: showSubject === true,
    started_at: new Date().toISOString(),
  }
  return runJob(await createJob(ctx, header, planned), { signer, earlier: null })
}

function partly(output: Output<unknown>): Output<unknown> {
  return { ...output, exit: () => output.exit?.() || exit.partial }
}

/** Leaves out those of several people. @throws CliError held (exit 5) for a single one that is to be erased */
async function withoutHeld(ctx: Context, { people, source }: Order, erases: boolean): Promise<SubjectRequest[]> {
  const free: SubjectRequest[] = []
  for (const asked of people) {
    const [hold] = source !== null || erases ? await findHoldsOf(ctx.api, asked.subjects) : []
    if (source === null)
      requireNotHeld(hold, 'once it has ended, or is removed (consentctl hold list), run the command again')
    if (hold) await ctx.warn(`${asked.ticket}: a legal hold ${describeHold(hold)}; left out`)
    else free.push(asked)
  }
  return free
}

/** The confirmed total does not include a person with only near matches. @throws CliError `near_matches` (exit 5) */
function rejectMistyped(ctx: Context, { source }: Order, plans: readonly Planned[]): void {
  for (const { asked, targets, near } of plans)
    if (targets.length === 0) rejectOnlyNear(ctx, { ...asked, isLine: source !== null }, near)
}

/**
 * @throws CliError `quota_exceeded` (exit 6) if the records are needed, or the service cannot list their ids; `changed`
 * (exit 10) if they differ from the plan
 */
async function findRecords(ctx: Context, { subjects }: SubjectRequest, { given, files }: Order): Promise<Found> {
  try {
    const records = await liveRecords(ctx.api, subjects)
    if (given) requireAsPlanned(given.plan.records, records.map(toPlanned))
    return { records, targets: toTargets(subjects, records) }
  } catch (error) {
    if (exitOf(error) !== exit.quota) throw error
    if (given || files || !(await erasesSubjects(ctx.api))) throw quotaError(error)
    await ctx.say('the quota is used up: erasing on the server instead (not limited)')
    return { records: null, targets: (await askForErasable(ctx.api, subjects)).live }
  }
}

const answered: Readonly<Record<'erasure' | 'withdrawal', readonly RequestKind[]>> = {
  erasure: ['erasure', 'objection'],
  withdrawal: ['withdrawal', 'objection', 'restriction'],
}

/** @throws CliError (usage) unless the erasure or withdrawal would answer the request */
export function toSubjectRequest(
  { id, ticket, kind, received_on, due_on }: DataSubjectRequest,
  subjects: readonly string[],
  { reason, by }: { readonly reason: string | null; readonly by: 'erasure' | 'withdrawal' },
): SubjectRequest {
  if (!answered[by].includes(kind))
    throw usageError(
      `${ticket} is a request for ${kind}, not for ${by}`,
      `if it is for both: consentctl requests update ${quoteForShell(ticket)} --kind ${by}`,
    )
  return { subjects, ticket, reason, received_at: received_on, due_at: due_on, request_id: id }
}

export async function rehearse(
  ctx: Context,
  { source }: Pick<Order, 'source'>,
  plans: readonly Pick<Planned, 'asked' | 'targets'>[],
): Promise<Output<unknown>> {
  if (source === null) await warnOfHolds(ctx, plans)
  for (const { asked } of plans) await tellProofs(ctx, asked.subjects, true)
  if (source !== null) {
    await ctx.say(`${describe(ctx, plans)}: nothing was deleted`)
    return many(personView, pagesOf(plans.map(toPersonRow))) as Output<unknown>
  }
  const targets = plans.flatMap(each => each.targets)
  await tellSites(ctx, countBySite(targets), instanceLabel(ctx))
  await ctx.say('nothing was deleted')
  return many(erasureView, pagesOf(toRows(targets))) as Output<unknown>
}

/** They would stop the erasure. */
async function warnOfHolds(ctx: Context, plans: readonly Pick<Planned, 'asked'>[]): Promise<void> {
  for (const { asked } of plans)
    for (const hold of await findHoldsOf(ctx.api, asked.subjects))
      await ctx.warn(`a legal hold ${describeHold(hold)}; it stops the erasure`)
}

function describe(ctx: Context, plans: readonly Pick<Planned, 'targets'>[]): string {
  const total = plans.reduce((sum, { targets }) => sum + targets.length, 0)
  return `${formatPeople(plans.length)}, ${formatCount(total)} on ${instanceLabel(ctx)}`
}

function toPersonRow({ asked: { ticket }, targets }: Pick<Planned, 'asked' | 'targets'>): PersonRow {
  return { ticket, records: targets.length, result: 'planned', receipt: null, job: null }
}

function toRows(targets: readonly Target[]): ErasureRow[] {
  const planned = { result: 'planned', deleted_at: null, request_id: null } as const
  return targets.map(({ id, site_id }) => ({ id, site_id, ...planned }))
}

/** @throws CliError `declined` (exit 9), `changed` (exit 10) if records changed during the prompt */
async function review(ctx: Context, { source }: Order, plans: readonly Planned[], asks: boolean): Promise<void> {
  const where = instanceLabel(ctx)
  const targets = plans.flatMap(each => each.targets)
  const counts = countBySite(targets)
  if (source !== null) await ctx.say(describe(ctx, plans))
  else if (targets.length === 0)
    await ctx.say('no matching records. Identifiers must match exactly, including case and spaces')
  else if (!asks) await tellSites(ctx, counts, where)
  if (!asks) return
  if (targets.length === 0) return await confirmNothing(ctx, plans)
  const question = { action: 'erase', noun: 'record', where }
  const [{ records } = { records: null }] = plans
  if (source !== null)
    await promptToConfirm(ctx, personView, plans.map(toPersonRow), { ...question, total: targets.length })
  else {
    const sites = new Map([...counts].map(([site, count]) => [site ?? '(none)', count]))
    if (records) await promptToConfirm(ctx, consentView, records, { ...question, counts: sites })
    else await promptToConfirm(ctx, erasureView, toRows(targets), { ...question, counts: sites })
  }
  for (const { asked, records, targets } of plans)
    if (records) requireAsPlanned(records.map(toPlanned), (await liveRecords(ctx.api, asked.subjects)).map(toPlanned))
    else requireAsPlanned(targets, (await askForErasable(ctx.api, asked.subjects)).live)
}

/** A mistyped identifier has no matches either, and a receipt is permanent. */
async function confirmNothing(ctx: Context, plans: readonly Pick<Planned, 'asked'>[]): Promise<void> {
  let proofs = 0
  for (const { asked } of plans) proofs += await tellProofs(ctx, asked.subjects, true)
  const receipts = plans.length === 1 ? 'a receipt' : `${plans.length} receipts`
  const held = proofs === 0 ? 'nothing is held' : 'no record is held'
  const answer = await prompt(ctx.io, `Make ${receipts} that ${held}? [y/N] `, ctx.interruption)
  if (!/^y(es)?$/i.test(answer.trim())) throw declinedError()
}

async function exportFirst(
  { api, say }: Context,
  signer: Signer,
  files: ExportFiles,
  plans: readonly Planned[],
): Promise<string> {
  const subjects = plans.flatMap(({ asked }) => asked.subjects)
  const records = plans.flatMap(each => each.records ?? [])
  const { sha256 } = await writeExport(api, { ...signer, subjects }, files, pagesOf(records))
  await say(`wrote ${files.path} and ${files.path}.manifest.json`)
  return sha256
}
