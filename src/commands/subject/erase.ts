import { resolve } from 'node:path'
import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addConfirmFlags, confirmOptionsFromZero, mustPrompt } from '../../cli/confirm.ts'
import { formatCount, subjectCommand } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import {
  addAlsoFlag,
  addRequestFlag,
  alsoOption,
  readPerson,
  readsStdin,
  requestOption,
  Subject,
} from '../../cli/subjects.ts'
import { receivedDay, startInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { text } from '../../contract/values.ts'
import { abandonExport, openExport } from '../../erasure/export.ts'
import type { SubjectRequest } from '../../erasure/job.ts'
import { makePlan, readPlan } from '../../erasure/plan.ts'
import { liveRecords, toTargets } from '../../erasure/records.ts'
import { exit, usageError } from '../../errors/errors.ts'
import { openOutFile } from '../../io/new-file.ts'
import { findOperator, requireSameInstance } from '../../receipts/signer.ts'
import { requireBaseUrl } from '../../settings/settings.ts'
import { erasureView, personView } from '../../views/subject.ts'
import { tellUnplanned, warnOfNear, warnOfUnfinished } from './near.ts'
import { explainQuota } from './operations.ts'
import { rehearse, startErasure, toSubjectRequest } from './start.ts'

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

/** A larger number probably means several people. */
const mostIdentifiers = 20

export function erase(command: Command, ctx: Context): void {
  addRequestFlag(addAlsoFlag(command.argument('[id]', 'identifier of the data subject, exactly as stored')))
    .option('--ticket <text>', 'ticket of the request; required without --request')
    .option('--reason <text>', 'reason to state in the receipt')
    .option('--received <date>', 'when the request was received, such as 2026-01-31; sets the due date')
    .option('--export-first <file>', 'export the records to a new file before deleting them')
    .option('--plan-out <file>', 'write the plan to a new file and stop')
    .option('--apply <file>', 'carry out a plan if nothing has changed since it was written')
    .option('--dry-run', 'show what would be deleted and stop')
    .option('--file <path|->', 'erase the people in a CSV, one per line')
    .option('--repeat-since <time>', 'after restoring a backup, repeat the erasures since it was taken')
    .option('--one-person', `with -, allow more than ${mostIdentifiers} identifiers`)
    .option('--show-subject', 'write the identifier in clear text into the receipt, which is kept on this machine only')
  addConfirmFlags(command, 'record')
    .description(help)
    .action(
      action(
        ctx,
        Options,
        options => (isOfOne(options) ? erasureView : personView),
        (_, options) => run(ctx, options),
      ),
    )
}

const help = `
Finds the live records, shows them, prompts, deletes exactly these, verifies, and makes a signed receipt, also if
there are no records. If it is killed at any step, consentctl subject resume continues, and there is one receipt.
Records created meanwhile are reported (exit 8). Use - as the identifier to read all identifiers of one person from
stdin, one per line. With --request the identifiers, the ticket and the days come from the register, which gets the
receipt's digest; close the request afterwards.

Near matches are identifiers that differ only in case, surrounding blanks or Unicode form. They are reported if the
instance can find them, and erased only if --also names them. If only near matches are found, it prompts, or stops
with 5 unless --confirm 0 agrees to sign that there are no records. If exact matches are found too, --yes and
--confirm leave the near matches, and a message says so.

With --plan-out one person makes the plan, and another, or a pipeline, carries it out with --apply; if a record was
changed, added or deleted since then, nothing is done (exit 10). The plan contains the identifier in clear text.

--file requests.csv erases several people, one per line, with the columns ticket, received, reason, identifier,
identifier_2 and so on; a line without identifiers is a request of the register. One plan is shown and confirmed by
the number of all records; if a person has only near matches it stops with 5, unless that number is 0. Each person
gets a receipt, and subject resume continues the whole file; until it is finished the same file is refused (exit 2).

--repeat-since is for use after restoring a backup: it erases the people of the receipts since that day again if
their records are live, like --file, with new receipts that name the repeated ones. These are the receipts of the
profile, and of colleagues that the service keeps. A person with a record newer than
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

const isOfOne = ({ file, repeatSince }: Options) => (file ?? repeatSince) === undefined

const common = ['yes', 'confirm', 'dryRun', 'showSubject'] as const

const entrances = {
  operands: [
    ...common,
    'operands',
    'also',
    'request',
    'ticket',
    'received',
    'reason',
    'onePerson',
    'exportFirst',
    'planOut',
  ],
  apply: [...common, 'apply', 'exportFirst'],
  file: [...common, 'file', 'reason'],
  repeatSince: [...common, 'repeatSince', 'reason'],
} as const satisfies Readonly<Record<string, readonly (keyof Options)[]>>

/** @throws CliError (usage) for an option of another mode */
function requireOneEntrance(options: Options): void {
  const { apply, file, repeatSince, planOut, dryRun } = options
  const entrance = file ? 'file' : repeatSince ? 'repeatSince' : apply ? 'apply' : 'operands'
  const given = Object.entries(options).filter(([, value]) => value !== undefined && String(value) !== '')
  const stray = given.find(([name]) => !(entrances[entrance] as readonly string[]).includes(name))
  if (stray) throw usageError(`${toFlag(stray[0])} cannot be used with ${toFlag(entrance)}`)
  if (planOut && dryRun) throw usageError('--dry-run cannot be used with --plan-out, which never deletes')
}

function toFlag(name: string): string {
  return name === 'operands' ? 'an identifier' : `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
}

async function run(ctx: Context, options: Options): Promise<Output<unknown>> {
  const { file, apply, repeatSince, planOut, exportFirst, operands, also } = options
  requireOneEntrance(options)
  requireDistinctFiles(ctx, options)
  const isRehearsal = options.dryRun !== undefined || planOut !== undefined
  const stdinInUse = file === '-' || readsStdin(operands, also)
  const asks = !isRehearsal && mustPrompt(ctx, options, { action: 'erase', stdinInUse })
  if (file !== undefined) return await eraseFile(ctx, file, { ...options, asks })
  if (repeatSince !== undefined) return await repeatErasures(ctx, repeatSince, { ...options, asks })
  const given = apply === undefined ? null : await readPlan(apply)
  const asked = given?.plan ?? (await readRequest(ctx, options))
  await warnOfUnfinished(ctx, asked.subjects)
  if (given) requireSameInstance(ctx, given.plan.instance, 'plan')
  if (planOut !== undefined) return await writePlan(ctx, asked, planOut)
  const files = exportFirst === undefined ? null : await openExport(exportFirst, '--export-first')
  try {
    return await startErasure(ctx, { people: [asked], source: null, given, files }, { ...options, asks })
  } finally {
    if (files) await abandonExport(files)
  }
}

type Asking = Options & { readonly asks: boolean }

async function eraseFile(ctx: Context, file: string, options: Asking): Promise<Output<unknown>> {
  const { readPeople } = await import('./people.ts')
  const { people, sha256 } = await readPeople(ctx, file, { reason: options.reason ?? null, by: 'erasure' })
  await warnOfUnfinished(
    ctx,
    people.flatMap(({ subjects }) => subjects),
  )
  return await startErasure(ctx, { people, source: file, sha256, given: null, files: null }, options)
}

/** Includes only people whose records are live again. */
async function repeatErasures(ctx: Context, time: string, options: Asking): Promise<Output<unknown>> {
  const { findRepeated } = await import('./repeat.ts')
  const since = new Date(startInstant(time, new Date())).toISOString()
  const { people, isPartial } = await findRepeated(ctx, since, options)
  const source = `the receipts since ${since}`
  if (people.length === 0)
    await ctx.say(`no record of a receipt since ${since} is live${isPartial ? ', but for those left out' : ''}`)
  const output =
    people.length === 0
      ? (many(personView, pagesOf([])) as Output<unknown>)
      : await startErasure(ctx, { people, source, given: null, files: null }, options)
  const code = () => output.exit?.() ?? exit.done
  return { ...output, exit: () => (isPartial && code() === exit.done ? exit.partial : code()) }
}

/** A duplicate name would fail only after the erasure. */
function requireDistinctFiles({ globals }: Context, { exportFirst, planOut }: Options): void {
  const exported = exportFirst === undefined ? [] : [exportFirst, `${exportFirst}.manifest.json`]
  const files = [globals.out ?? [], planOut ?? [], exported].flat().map(file => resolve(file))
  if (new Set(files).size === files.length) return
  throw usageError('two output files have the same name', 'choose another one for --out')
}

async function readRequest(ctx: Context, options: Options): Promise<SubjectRequest> {
  const { operands, also, ticket, reason = null, received, dryRun } = options
  if (options.request === undefined && operands.length > 0 && ticket === undefined && !dryRun)
    throw usageError('--ticket is missing', 'name the request that this answers: the receipt contains it')
  if (options.request !== undefined && (ticket ?? received) !== undefined)
    throw usageError('--ticket and --received cannot be used with --request: they come from the register')
  const received_at = received === undefined ? null : receivedDay(received)
  const { subjects, request } = await readPerson(ctx, operands, options)
  if (request) return toSubjectRequest(request, subjects, { reason, by: 'erasure' })
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

async function writePlan(ctx: Context, asked: SubjectRequest, path: string): Promise<Output<unknown>> {
  const file = await openOutFile(path, '--plan-out')
  try {
    const by = { ...findOperator(), instance: requireBaseUrl(ctx.settings) }
    const records = await liveRecords(ctx.api, asked.subjects).catch(explainQuota)
    await warnOfNear(ctx, { ...asked, isLine: false })
    await file.write(makePlan(asked, by, records).text)
    await file.commit()
    const targets = toTargets(asked.subjects, records)
    await tellUnplanned(ctx, { ...asked, isLine: false }, targets)
    const output = await rehearse(ctx, { source: null }, [{ asked, targets }])
    const command = subjectCommand(ctx, 'erase', '--apply', path, '--confirm', String(records.length))
    await ctx.say(`wrote ${path}; to carry it out: ${command}`)
    return output
  } finally {
    await file.abandon(false)
  }
}
