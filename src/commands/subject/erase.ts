import { resolve } from 'node:path'
import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import {
  addConfirmFlags,
  confirmOptionsFromZero,
  mustPrompt,
  promptToConfirm,
  requireConfirmedCount,
} from '../../cli/confirm.ts'
import { formatCount, instanceLabel, subjectCommand } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import {
  addAlsoFlag,
  addRequestFlag,
  alsoOption,
  readPerson,
  readsStdin,
  requestOption,
  Subject,
  tellSites,
} from '../../cli/subjects.ts'
import { receivedDay } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { text } from '../../contract/values.ts'
import { markErased } from '../../erasure/by-subject.ts'
import { abandonExport, type ExportFiles, openExport, writeExport } from '../../erasure/export.ts'
import { type ErasureHeader, erasureJobs, recordPlan, unfinishedJobs } from '../../erasure/job.ts'
import { makePlan, type PlanFile, readPlan, requireAsPlanned, toPlanned } from '../../erasure/plan.ts'
import { makeReceipt, verifyErased } from '../../erasure/receipt.ts'
import { askForErasable, countBySite, liveRecords, type Target, toTargets } from '../../erasure/records.ts'
import { type ErasureRequest, openRequest, type SubjectRequest } from '../../erasure/request.ts'
import { newState } from '../../erasure/state.ts'
import { usageError } from '../../errors/errors.ts'
import { openOutFile } from '../../io/new-file.ts'
import { declinedError, prompt } from '../../io/prompt.ts'
import { requireAppendable } from '../../receipts/chain.ts'
import { findOperator, identify } from '../../receipts/signer.ts'
import { requireBaseUrl } from '../../settings/settings.ts'
import { consentView } from '../../views/consent.ts'
import { type ErasureRow, erasureView, personView } from '../../views/subject.ts'
import {
  type Found,
  findRecords,
  type Order,
  requireEraseScope,
  toHeader,
  toPlanner,
  toSubjectRequest,
  warnOfNear,
} from './found.ts'
import { rejectOnlyNear, tellLeftOut } from './near.ts'
import { explainQuota, runJob, tellReceipt } from './run.ts'

const Options = z.strictObject({
  ...alsoOption,
  ...requestOption,
  ...confirmOptionsFromZero,
  onePerson: z.literal(true).optional(),
  file: nonEmpty.optional(),
  repeatSince: nonEmpty.optional(),
  operands: z.array(Subject).max(1).default([]),
  ticket: text(1, 100).optional(),
  reason: text(1, 500).optional(),
  received: nonEmpty.optional(),
  exportFirst: nonEmpty.optional(),
  planOut: nonEmpty.optional(),
  apply: nonEmpty.optional(),
  dryRun: z.literal(true).optional(),
  showSubject: z.literal(true).optional(),
})
type Options = z.output<typeof Options>

/** More are probably several people. */
const mostIdentifiers = 20

export function erase(command: Command, ctx: Context): void {
  addRequestFlag(addAlsoFlag(command.argument('[id]', 'identifier of the data subject, exactly as stored')))
    .option('--ticket <text>', 'the request that this answers; required without --request')
    .option('--reason <text>', 'a reason for the receipt')
    .option('--received <date>', 'when the request was received, such as 2026-01-31; sets the due date')
    .option('--export-first <file>', 'export the records to a new file before deleting them')
    .option('--plan-out <file>', 'write the plan to a new file and stop')
    .option('--apply <file>', 'carry out a plan if nothing has changed since it was written')
    .option('--dry-run', 'show what would be deleted and stop')
    .option('--file <path|->', 'erase the people of a CSV, one a line')
    .option('--repeat-since <time>', 'after restoring a backup, repeat the erasures since it was taken')
    .option('--one-person', `with -, allows more than ${mostIdentifiers} identifiers`)
    .option('--show-subject', 'write the identifier in clear text into the receipt')
  addConfirmFlags(command, 'record')
    .addHelpText('after', help)
    .action(
      action(
        ctx,
        Options,
        ({ file, repeatSince }) => ((file ?? repeatSince) === undefined ? erasureView : personView),
        run,
      ),
    )

  async function run(_: Context, options: Options): Promise<Output<unknown>> {
    const { file, repeatSince } = options
    if ((file ?? repeatSince) === undefined) return await runErase(ctx, options)
    requireSeveral(options)
    const { eraseFile, repeatErasures } = await import('./batch.ts')
    if (file !== undefined) return await eraseFile(ctx, file, options)
    return await repeatErasures(ctx, repeatSince as string, options)
  }
}

const help = `
Finds the live records, shows them, prompts, deletes exactly these, verifies, and makes a signed receipt, also if
there are no records. If it is killed at any step, consentctl subject resume continues, and there is one receipt.
Records created meanwhile are reported (exit 8). Use - as the identifier to read all identifiers of one person from
stdin, one a line. With --request the identifiers, the ticket and the days come from the register, which gets the
receipt's digest; close the request afterwards.

Near matches are identifiers that differ only in case, surrounding blanks or Unicode form. They are reported if the
instance can find them, and erased only if --also names them. If only near matches are found, it prompts, or stops
with 5 unless --confirm 0 agrees to sign that there are no records. If exact matches are found too, --yes and
--confirm leave the near matches, and a message says so.

With --plan-out one person makes the plan, and another, or a pipeline, carries it out with --apply; if a record was
changed, added or deleted since then, nothing is done (exit 10). The plan contains the identifier in clear text.

--file requests.csv erases several people, one a line, with the columns ticket, received, reason, identifier,
identifier_2 and so on; a line without identifiers is a request of the register. One plan is shown and confirmed by
the number of all records; if a person has only near matches it stops with 5, unless that number is 0. Each person
gets a receipt, and subject resume continues the whole file.

--repeat-since is for use after restoring a backup: it erases the people of the receipts since that day again if
their records are live, like --file, with new receipts that name the repeated ones. A person with a record newer than
the erasure, and a receipt without records, are reported and left out (exit 8). It also names the purges that the
backup undid.

A service that can erase subjects itself deletes the planned records in few calls, which the monthly quota does not
limit. With other services an erasure stops when the quota is used up (exit 6), and resume continues next month.

Examples:
  $ consentctl subject erase maria@example.com --ticket DSR-7 --received 2026-01-31
  $ consentctl subject erase --request DSR-7
  $ consentctl subject erase --file requests.csv --confirm 57
  $ consentctl subject erase --repeat-since 2026-01-31T02:00:00Z
  $ consentctl subject erase maria@example.com --ticket DSR-7 --plan-out plan.json
  $ consentctl subject erase --apply plan.json --confirm 3`

async function runErase(ctx: Context, options: Options): Promise<Output<unknown>> {
  requireDistinctFiles(ctx, options)
  const given = options.apply === undefined ? null : await readPlan(requireLoneApply(options, options.apply))
  const asked = given?.plan ?? (await readRequest(ctx, options))
  const isRehearsal = options.dryRun !== undefined || options.planOut !== undefined
  const stdinInUse = readsStdin(options.operands, options.also)
  const asks = !isRehearsal && mustPrompt(ctx, options, { action: 'erase', stdinInUse })
  await warnOfUnfinished(ctx, asked.subjects)
  if (given) requireSameInstance(ctx, given)
  if (options.planOut) return await writePlan(ctx, asked, options.planOut)
  const files = options.exportFirst ? await openExport(options.exportFirst, '--export-first') : null
  const order = { asked, given, files }
  try {
    if (isRehearsal) return await rehearse(ctx, await findRecords(ctx, order))
    return await eraseReviewed(ctx, options, order, asks)
  } finally {
    if (files) await abandonExport(files)
  }
}

async function eraseReviewed(ctx: Context, options: Options, order: Order, asks: boolean): Promise<Output<unknown>> {
  const { asked, given, files } = order
  const key = await identify(ctx.api)
  const request = await openRequest(ctx, asked, options, key)
  const found = await findRecords(ctx, order)
  await requireEraseScope(ctx, key, [found])
  requireConfirmedCount(options, found.targets.length, 'record', 'erased')
  const isNothing = found.targets.length === 0
  if (isNothing && !asks && options.confirm === undefined) rejectOnlyNear(ctx, { ...asked, isLine: false }, found.near)
  if (!isNothing && !asks) await tellLeftOut(ctx, found.near, 'erased')
  await review(ctx, asked.subjects, found, asks)
  const export_sha256 = files && (await exportFirst(ctx, request, files, found))
  const plan = found.records && (given ?? makePlan(asked, request, found.records))
  const header = toHeader(request, found, {
    planned_by: given && toPlanner(given),
    plan_sha256: plan?.sha256 ?? null,
    export_sha256,
  })
  return await startJob(ctx, request, header, found)
}

/** A duplicate name would only fail after the erasure. */
function requireDistinctFiles({ globals }: Context, { exportFirst, planOut }: Options): void {
  const exported = exportFirst === undefined ? [] : [exportFirst, `${exportFirst}.manifest.json`]
  const files = [globals.out ?? [], planOut ?? [], exported].flat().map(file => resolve(file))
  if (new Set(files).size === files.length) return
  throw usageError('two output files have the same name', 'choose another one for --out')
}

/** @throws CliError (usage) for a flag that the plan sets */
function requireLoneApply(options: Options, apply: string): string {
  const { operands, also, request, ticket, reason, received, planOut } = options
  requireNoDryRunPlan(options)
  const others = {
    id: operands[0],
    '--also': also,
    '--request': request,
    '--ticket': ticket,
    '--reason': reason,
    '--received': received,
    '--plan-out': planOut,
  }
  for (const [name, value] of Object.entries(others))
    if (value !== undefined) throw usageError(`${name} cannot be used with --apply: the plan sets it`)
  return apply
}

/** @throws CliError (usage) for flags about one person */
function requireSeveral(options: Options): void {
  const { operands, also, request, ticket, received, exportFirst, planOut, apply, onePerson, file } = options
  const source = file === undefined ? '--repeat-since' : '--file'
  const others = {
    id: operands[0],
    '--also': also,
    '--request': request,
    '--ticket': ticket,
    '--received': received,
    '--export-first': exportFirst,
    '--plan-out': planOut,
    '--apply': apply,
    '--one-person': onePerson,
    '--repeat-since': file && options.repeatSince,
  }
  for (const [name, value] of Object.entries(others))
    if (value !== undefined) throw usageError(`${name} cannot be used with ${source}, which covers several people`)
}

function requireNoDryRunPlan({ planOut, dryRun }: Options): void {
  if (planOut && dryRun) throw usageError('--dry-run cannot be used with --plan-out, which never deletes')
}

async function readRequest(ctx: Context, options: Options): Promise<SubjectRequest> {
  const { operands, also, ticket, reason = null, received, dryRun } = options
  requireNoDryRunPlan(options)
  if (options.request === undefined && operands.length > 0 && ticket === undefined && !dryRun)
    throw usageError('--ticket is missing', 'name the request that this answers: the receipt contains it')
  if (options.request !== undefined && (ticket ?? received) !== undefined)
    throw usageError('--ticket and --received cannot be used with --request: they come from the register')
  const received_at = received === undefined ? null : receivedDay(received)
  const { subjects, request } = await readPerson(ctx, operands, options)
  if (request) return toSubjectRequest(request, subjects, reason)
  if (readsStdin(operands, also)) await tellOnePerson(ctx, subjects.length, options)
  return { subjects, ticket: ticket ?? '', reason, received_at }
}

/** @throws CliError (usage) for too many identifiers */
async function tellOnePerson(ctx: Context, count: number, { onePerson }: Options): Promise<void> {
  if (count > mostIdentifiers && !onePerson)
    throw usageError(
      `${count} identifiers are too many for one person: nothing was done`,
      'for several people use --file requests.csv; if it is one, add --one-person',
    )
  await ctx.say(`stdin has ${formatCount(count, 'identifier')} of one person`)
}

/** With two jobs, each would prove only a part. */
async function warnOfUnfinished(ctx: Context, subjects: readonly string[]): Promise<void> {
  for (const { job, ticket, subjects: others } of await unfinishedJobs(ctx)) {
    if (!others.some(each => subjects.includes(each))) continue
    const command = subjectCommand(ctx, 'resume', job)
    await ctx.warn(`an erasure of this person (${ticket}) is not finished: ${command}`)
  }
}

function requireSameInstance({ settings }: Context, { plan }: PlanFile): void {
  const here = requireBaseUrl(settings)
  if (here === plan.instance) return
  throw usageError(`the plan is for ${plan.instance}, not for ${here}`, `--base-url ${plan.instance}`)
}

const planned = { result: 'planned', deleted_at: null, request_id: null } as const

function toRows(targets: readonly Target[]): ErasureRow[] {
  return targets.map(({ id, site_id }) => ({ id, site_id, ...planned }))
}

async function rehearse(ctx: Context, { targets }: Pick<Found, 'targets'>): Promise<Output<unknown>> {
  await tellSites(ctx, countBySite(targets), instanceLabel(ctx))
  await ctx.say('nothing was deleted')
  return many(erasureView, pagesOf(toRows(targets))) as Output<unknown>
}

async function writePlan(ctx: Context, asked: SubjectRequest, path: string): Promise<Output<unknown>> {
  const file = await openOutFile(path, '--plan-out')
  try {
    const by = { ...findOperator(), instance: requireBaseUrl(ctx.settings) }
    const records = await liveRecords(ctx.api, asked.subjects).catch(explainQuota)
    await warnOfNear(ctx, { ...asked, isLine: false })
    await file.write(makePlan(asked, by, records).text)
    await file.commit()
    const output = await rehearse(ctx, { targets: toTargets(asked.subjects, records) })
    const command = subjectCommand(ctx, 'erase', '--apply', path, '--confirm', String(records.length))
    await ctx.say(`wrote ${path}; to carry it out: ${command}`)
    return output
  } finally {
    await file.abandon(false)
  }
}

/** @throws CliError `declined` (exit 9), `changed` (exit 10) if records changed during the prompt */
async function review(
  ctx: Context,
  subjects: readonly string[],
  { records, targets }: Found,
  asks: boolean,
): Promise<void> {
  const where = instanceLabel(ctx)
  const sites = countBySite(targets)
  if (targets.length === 0) return await confirmNothing(ctx, asks)
  if (!asks) return await tellSites(ctx, sites, where)
  const counts = new Map([...sites].map(([site, count]) => [site ?? '(none)', count]))
  const question = { action: 'erase', noun: 'record', where, counts }
  if (records === null) {
    await promptToConfirm(ctx, erasureView, toRows(targets), question)
    requireAsPlanned(targets, (await askForErasable(ctx.api, subjects)).live)
  } else {
    await promptToConfirm(ctx, consentView, records, question)
    requireAsPlanned(records.map(toPlanned), (await liveRecords(ctx.api, subjects)).map(toPlanned))
  }
}

/** A mistyped identifier matches nothing either, and a receipt is permanent. */
async function confirmNothing(ctx: Context, asks: boolean): Promise<void> {
  await ctx.say('no matching records. Identifiers must match exactly, including case and spaces')
  if (!asks) return
  const answer = await prompt(ctx.io, 'Make a receipt that nothing is held? [y/N] ', ctx.interruption)
  if (!/^y(es)?$/i.test(answer.trim())) throw declinedError()
}

async function exportFirst(
  { api, say }: Context,
  request: ErasureRequest,
  files: ExportFiles,
  { records }: Found,
): Promise<string> {
  const { sha256 } = await writeExport(api, request, files, pagesOf(records ?? []))
  await say(`wrote ${files.path} and ${files.path}.manifest.json`)
  return sha256
}

/** The plan is on disk before anything is deleted. */
async function startJob(
  ctx: Context,
  request: ErasureRequest,
  header: ErasureHeader,
  { targets }: Found,
): Promise<Output<unknown>> {
  const state = newState(header)
  await requireAppendable(request.store)
  if (targets.length === 0 && header.request_id === null) {
    await markErased(ctx.api, state)
    const verified = await verifyErased(ctx.api, header)
    const code = await tellReceipt(ctx, await makeReceipt(request, state, verified))
    return many(erasureView, pagesOf([]), { exit: () => code }) as Output<unknown>
  }
  const job = { ctx, state, held: await erasureJobs(ctx).create(header) }
  try {
    await recordPlan(job, targets)
  } catch (error) {
    await job.held.close(true)
    throw error
  }
  return runJob(job, request)
}
