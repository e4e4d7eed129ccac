import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import * as z from 'zod'
import { action, collect, nonEmpty } from '../../cli/action.ts'
import {
  addConfirmFlags,
  confirmOptionsFromZero,
  mustPrompt,
  promptToConfirm,
  requireConfirmedCount,
} from '../../cli/confirm.ts'
import { callOptional, formatCount, instanceLabel } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import { siteIdOf } from '../../cli/sites.ts'
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
import { subjects as subjectEndpoints } from '../../contract/subjects.ts'
import { text } from '../../contract/values.ts'
import { Purposes } from '../../contract/withdrawals.ts'
import { createJob, type SubjectRequest } from '../../erasure/job.ts'
import { countBySite, type NearMatch } from '../../erasure/records.ts'
import { findGranting, type Granted, type Granting, type Withdrawal } from '../../erasure/withdrawal.ts'
import { usageError } from '../../errors/errors.ts'
import { declinedError, prompt } from '../../io/prompt.ts'
import { openSigner, requireScope } from '../../receipts/signer.ts'
import { requireAppendable } from '../../receipts/store.ts'
import { type PersonRow, personView, type WithdrawalRow, withdrawalView } from '../../views/subject.ts'
import { rejectOnlyNear, tellLeftOut, warnOfNear, warnOfUnfinished } from './near.ts'
import { formatPeople, runJob } from './run.ts'
import { toSubjectRequest } from './start.ts'

const Options = z.strictObject({
  ...alsoOption,
  ...requestOption,
  ...confirmOptionsFromZero,
  operands: z.array(Subject).max(1).default([]),
  purpose: Purposes,
  site: nonEmpty.optional(),
  file: nonEmpty.optional(),
  ticket: text(1, 100).optional(),
  reason: text(1, 500).optional(),
  received: nonEmpty.optional(),
  dryRun: z.literal(true).optional(),
  showSubject: z.literal(true).optional(),
})
type Options = z.output<typeof Options>

export function withdraw(command: Command, ctx: Context): void {
  addRequestFlag(addAlsoFlag(command.argument('[id]', 'identifier of the data subject, exactly as stored')))
    .requiredOption('--purpose <name>', 'the purpose: a key of the preferences, such as marketing; repeatable', collect)
    .option('--ticket <text>', 'ticket of the request; required without --request')
    .option('--site <site>', 'only records of this site')
    .option('--dry-run', 'show what would be withdrawn and stop')
    .option('--file <path|->', 'withdraw for the people in a CSV, one per line')
    .option('--reason <text>', 'reason to state in the receipt')
    .option('--received <date>', 'when the request was received, such as 2026-01-31; sets the due date')
    .option('--show-subject', 'write the identifier in clear text into the receipt, which is kept on this machine only')
  addConfirmFlags(command, 'record')
    .description(help)
    .action(
      action(
        ctx,
        Options,
        options => (options.file === undefined ? withdrawalView : personView),
        (_, options) => run(ctx, options),
      ),
    )
}

const help = `
Finds the live records that grant the purpose today, shows them, prompts, turns it off in exactly these, verifies, and
makes a signed receipt, also if nothing was given. Other answers stay. A record that grants no purpose any more becomes
refused as a whole. Records that do not grant the purpose are not touched, also if they are accepted without an answer
to it: the receipt counts them. If a record is changed meanwhile, the purpose is turned off in what it became. Records
that grant the purpose only since then are reported (exit 8).

If it is killed at any step, consentctl subject resume continues. The receipts are in the chain of those of erasures:
consentctl subject receipts lists them, and subject verify --live asks if a record of a receipt grants the purpose
again. With --request the identifiers, the ticket and the days come from the register, which gets the receipt's
digest; close the request afterwards.

--file people.csv has the columns ticket, received, reason, identifier, identifier_2 and so on, as subject erase
reads them. One plan is confirmed by the number of all records, and each person gets a receipt.

Near matches are reported and treated as by subject erase. It needs the scope write, and is never refused for quota.
Not every instance can withdraw (exit 2, not_offered).

Examples:
  $ consentctl withdraw maria@example.com --purpose marketing --ticket DSR-7
  $ consentctl withdraw --request DSR-7 --purpose marketing --purpose profiling
  $ consentctl withdraw --file people.csv --purpose marketing --confirm 57`

async function run(ctx: Context, options: Options): Promise<Output<unknown>> {
  const { file, operands, also, site, dryRun, purpose } = options
  requireOneEntrance(options)
  const stdinInUse = file === '-' || readsStdin(operands, also)
  const asks = !dryRun && mustPrompt(ctx, options, { action: 'withdraw', stdinInUse })
  const { people, sha256 } = await readRequests(ctx, options)
  await warnOfUnfinished(
    ctx,
    people.flatMap(({ subjects }) => subjects),
  )
  const site_id = site === undefined ? null : await siteIdOf(ctx, site)
  const withdrawal = { purposes: purpose, site_id }
  return await start(ctx, { people, source: file ?? null, sha256, withdrawal }, { ...options, asks })
}

/** @throws CliError (usage) for an option of another mode */
function requireOneEntrance({ file, operands, also, request, ticket, received }: Options): void {
  if (file === undefined) return
  const others = { 'an identifier': operands[0], '--also': also, '--request': request, '--ticket': ticket }
  const all: Readonly<Record<string, unknown>> = { ...others, '--received': received }
  const stray = Object.keys(all).find(name => all[name] !== undefined)
  if (stray) throw usageError(`${stray} cannot be used with --file`)
}

interface Requests {
  readonly people: readonly SubjectRequest[]
  readonly sha256?: string | undefined
}

async function readRequests(ctx: Context, options: Options): Promise<Requests> {
  const { file, operands, ticket, reason = null, received, dryRun } = options
  if (file !== undefined) {
    const { readPeople } = await import('./people.ts')
    return await readPeople(ctx, file, { reason, by: 'withdrawal' })
  }
  if (options.request === undefined && operands.length > 0 && ticket === undefined && !dryRun)
    throw usageError('--ticket is missing', 'name the request that this answers: the receipt contains it')
  if (options.request !== undefined && (ticket ?? received) !== undefined)
    throw usageError('--ticket and --received cannot be used with --request: they come from the register')
  const received_at = received === undefined ? null : receivedDay(received)
  const { subjects, request } = await readPerson(ctx, operands, options)
  if (request) return { people: [toSubjectRequest(request, subjects, { reason, by: 'withdrawal' })] }
  return { people: [{ subjects, ticket: ticket ?? '', reason, received_at }] }
}

interface Order extends Requests {
  /** The file; null for one person. */
  readonly source: string | null
  readonly withdrawal: Withdrawal
}

interface Planned extends Granted {
  readonly asked: SubjectRequest
  readonly near: readonly NearMatch[]
}

/** Uses one plan and one confirmation for all people, then one job. */
async function start(ctx: Context, order: Order, options: Options & { readonly asks: boolean }) {
  const { people, source, sha256, withdrawal } = order
  const { dryRun, asks, confirm, showSubject = false } = options
  const signer = dryRun ? null : await openSigner(ctx)
  const isLine = source !== null
  const plans: Planned[] = []
  for (const asked of people) {
    const near = await warnOfNear(ctx, { ...asked, isLine })
    const found = await findGiven(ctx, asked, withdrawal)
    plans.push({ asked, near, ...found })
  }
  const granting = plans.flatMap(plan => plan.granting)
  await tellPlan(ctx, order, plans)
  if (!signer) {
    await ctx.say('nothing was changed')
    return output(source, plans)
  }
  if (granting.length > 0) requireScope(ctx, signer, 'write')
  await requireAppendable(signer.store)
  requireConfirmedCount({ confirm }, granting.length, 'record', 'changed')
  for (const { asked, near, live } of plans)
    if (live === 0 && !asks && confirm !== 0) rejectOnlyNear(ctx, { ...asked, isLine }, near)
  if (granting.length > 0 && !asks)
    await tellLeftOut(
      ctx,
      plans.flatMap(({ near }) => near),
      'changed',
    )
  if (asks) await confirmPlan(ctx, source, plans)
  const { who, host, profile, instance, account_id, api_key_id } = signer
  const header = {
    version: 1 as const,
    ...{ job: randomUUID(), profile, base_url: instance, account_id, api_key_id, source, sha256, who, host },
    ...{ shows_subject: showSubject, started_at: new Date().toISOString(), withdrawal },
  }
  const proof = { planned_by: null, plan_sha256: null, export_sha256: null }
  const planned = plans.map(({ asked, granting }) => ({
    person: { ...asked, ...proof },
    targets: granting.map(({ purposes: _, ...target }) => target),
  }))
  return runJob(await createJob(ctx, header, planned), { signer, earlier: null })
}

async function findGiven(ctx: Context, { subjects }: SubjectRequest, withdrawal: Withdrawal): Promise<Granted> {
  const call = () => findGranting(ctx.api, subjects, withdrawal)
  return await callOptional(ctx.api, subjectEndpoints.withdraw, call, {
    message: `${instanceLabel(ctx)} cannot withdraw purposes`,
    hint: 'consentctl list --subject ID shows the records; change each with consentctl update ID --pref NAME=false',
  })
}

async function tellPlan(ctx: Context, { source }: Order, plans: readonly Planned[]): Promise<void> {
  const granting = plans.flatMap(plan => plan.granting)
  const sum = (name: 'live' | 'not_answered') => plans.reduce((total, plan) => total + plan[name], 0)
  const where = instanceLabel(ctx)
  if (source !== null) await ctx.say(`${formatPeople(plans.length)}, ${formatCount(granting.length)} on ${where}`)
  else if (granting.length > 0) await tellSites(ctx, countBySite(granting), where)
  else if (sum('live') > 0) await ctx.say(`none of ${formatCount(sum('live'))} on ${where} grants it`)
  else await ctx.say('no matching records. Identifiers must match exactly, including case and spaces')
  if (sum('not_answered') > 0)
    await ctx.say(
      `${formatCount(sum('not_answered'))} accepted without an answer to it: not changed, because it is not granted`,
    )
}

function output(source: string | null, plans: readonly Planned[]): Output<unknown> {
  if (source !== null) return many(personView, pagesOf(plans.map(toPersonRow))) as Output<unknown>
  return many(withdrawalView, pagesOf(plans.flatMap(({ granting }) => granting.map(toRow)))) as Output<unknown>
}

function toPersonRow({ asked: { ticket }, granting }: Planned): PersonRow {
  return { ticket, records: granting.length, result: 'planned', receipt: null, job: null }
}

function toRow({ id, site_id, purposes, version }: Granting): WithdrawalRow {
  const after = { accepted: null, version: null, changed_at: null, request_id: null }
  return { id, site_id, result: 'planned', purposes: [...purposes], before: version, ...after }
}

/** @throws CliError `declined` (exit 9) */
async function confirmPlan(ctx: Context, source: string | null, plans: readonly Planned[]): Promise<void> {
  const granting = plans.flatMap(plan => plan.granting)
  const question = { action: 'withdraw the purpose in', noun: 'record', where: instanceLabel(ctx) }
  if (granting.length === 0) {
    const receipts = plans.length === 1 ? 'a receipt' : `${plans.length} receipts`
    const answer = await prompt(ctx.io, `Make ${receipts} that nothing was given? [y/N] `, ctx.interruption)
    if (!/^y(es)?$/i.test(answer.trim())) throw declinedError()
  } else if (source === null) await promptToConfirm(ctx, withdrawalView, granting.map(toRow), question)
  else await promptToConfirm(ctx, personView, plans.map(toPersonRow), { ...question, total: granting.length })
}
