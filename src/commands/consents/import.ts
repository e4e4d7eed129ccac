import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Command, Option } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addConfirmFlags, confirmOptions, mustPrompt } from '../../cli/confirm.ts'
import { isInterrupted } from '../../cli/ids.ts'
import { formatCount, quoteForShell } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { PolicyVersion } from '../../contract/values.ts'
import { addPage } from '../../docs/pages.ts'
import { CliError, dataError, type Exit, exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { isEncoding } from '../../io/encoding.ts'
import { interruptedError } from '../../io/io.ts'
import { limitHeapGrowth } from '../../io/memory.ts'
import { requireFree } from '../../io/new-file.ts'
import { requireApiKey, requireBaseUrl } from '../../settings/settings.ts'
import { importedView, valueView } from '../../views/import.ts'
import { type FormatName, formatNames } from './import/prepare/formats.ts'
import type { ImportMap } from './import/prepare/map.ts'
import type { Prepared } from './import/prepare/prepared.ts'

const Options = z.strictObject({
  operands: z.array(nonEmpty).default([]),
  from: z.enum(formatNames, `must be one of ${formatNames.join(', ')}`).optional(),
  map: nonEmpty.optional(),
  encoding: nonEmpty.refine(isEncoding, 'must be an encoding, such as windows-1252').optional(),
  mapOut: nonEmpty.optional(),
  site: nonEmpty.optional(),
  policyVersion: z
    .string()
    .regex(/^[1-9]\d{0,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(PolicyVersion)
    .optional(),
  timezone: nonEmpty.optional(),
  csvUnguard: z.literal(true).optional(),
  dryRun: z.literal(true).optional(),
  refusedOut: nonEmpty.optional(),
  failedOut: nonEmpty.optional(),
  receiptOut: nonEmpty.optional(),
  resume: nonEmpty.optional(),
  ignoreQuota: z.literal(true).optional(),
  allowEmpty: z.literal(true).optional(),
  ...confirmOptions,
})
type ImportFlags = z.output<typeof Options>

const help = `
Imports the records of another system with the time of each answer: one record per person, and a change for each later
answer. Imported records keep their origin, and "list --imported" shows them. The API key needs the scope import: keys
create --name import --scope import --scope read.

--dry-run prints every distinct value with its count and its meaning, and sends no record. With a site, a key and an
instance it also checks scope, site and quota by reads. It exits as the import would if the instance accepted all records.

An undecided value stops the import (exit 5): --map-out writes a map of these values to edit, and --map uses it. An
invalid row rejects its person with all rows: --refused-out lists them. An unreadable row stops the import. Local times
need --timezone. --policy-version sets the version of all answers, for files without one. There is no default. It is not
allowed if the map already names the version. --map-out also writes a first map of any CSV, and guesses its columns. The
language of maps is at the end of this help.

A person whose origin is already imported is not changed, so the same file can be sent again at any time. --resume
continues an import that was stopped or killed, without the files. The import ends with a signed receipt for
"consentctl verify", and prints its path. Exit code 8: some rows or records were rejected. 6: the quota is used up; 7:
the instance did not respond. Resume it later.

Formats: ${formatNames.join(', ')}. Any CSV: --from csv --map FILE.

Examples:
  $ consentctl import export.csv --from usercentrics --site Shop --dry-run
  $ consentctl import export.zip --from cookie-script --site Shop --timezone Europe/Berlin --policy-version 3
  $ consentctl import people.csv --from csv --map map.json --site Shop --yes
  $ consentctl import --resume last`

const viewOf = ({ dryRun }: ImportFlags) => (dryRun ? valueView : importedView)

export function importCommand(command: Command, ctx: Context): void {
  command
    .argument('[file...]', 'CSV, NDJSON or JSON files, also in gzip or ZIP')
    .addOption(new Option('--from <format>', 'the tool that wrote the files, or csv').choices(formatNames))
    .option('--site <site>', 'site of the records, by name or id')
    .option('--dry-run', 'send no record: print each value with its meaning, and check the instance')
    .option('--map <file>', 'a JSON file that maps the columns and values')
    .option('--map-out <path>', 'write a map of undecided values, or of a CSV, to a new file to edit')
    .option('--policy-version <n>', 'policy version of all answers')
    .option('--timezone <zone>', 'time zone of local times, such as Europe/Berlin')
    .option('--encoding <name>', 'encoding of files that are not UTF-8, such as windows-1252')
    .option('--csv-unguard', "remove the ' that guards cells beginning with = + - @ in CSV")
    .option('--refused-out <path>', 'write a list of rejected rows to a new file')
    .option('--failed-out <path>', 'write the records that the instance rejected to a new file')
    .option('--receipt-out <path>', 'write a copy of the receipt to a new file')
    .option('--resume <job|last>', 'resume an import that was stopped')
    .option('--ignore-quota', 'start even if the monthly quota is too small')
    .option('--allow-empty', 'accept files without rows')
  addPage(command, () => import('./import/map.md'))
  addConfirmFlags(command, 'record')
    .description(help)
    .action(action(ctx, Options, viewOf, run))
}

async function run(ctx: Context, options: ImportFlags): Promise<Output<unknown>> {
  const { resume, dryRun } = options
  ctx.useJsonMessages()
  if (resume !== undefined) return await resumeImport(ctx, options, resume)
  if (options.from === 'csv' && options.map === undefined && options.mapOut !== undefined)
    return await writeMapOut(ctx, options, options.mapOut)
  const { format, map } = await readMap(ctx, options)
  if (dryRun) return await preview(ctx, options, format, map)
  const asks = mustPrompt(ctx, options, { action: 'import' })
  requireBaseUrl(ctx.settings)
  requireApiKey(ctx.settings)
  const site = options.site ?? ctx.settings.site?.value
  if (!site) throw usageError('--site is missing', 'use --site, CONSENTCTL_SITE, or consentctl config set site SITE')
  await requireFreeOutputs(options)
  const [{ openDestination, requireSite }, { describePrepared }, { sendPrepared }] = await Promise.all([
    import('./import/destination.ts'),
    import('./import/prepare/prepared.ts'),
    import('./import/send.ts'),
  ])
  let opening: ReturnType<typeof openDestination> | undefined
  const prepared = await prepareFiles(ctx, options, map, () => {
    opening = openDestination(ctx)
    opening.catch(() => {}) // thrown below
  }).catch((error: unknown) => {
    throw isInterrupted(exitOf(error)) ? interruptedError(exitOf(error), ': nothing was sent') : error
  })
  if (isStopped(prepared)) {
    await ctx.warn(describePrepared(prepared, options.refusedOut).join('; '))
    return await stop(ctx, options, prepared)
  }
  try {
    const destination = await (opening ?? openDestination(ctx))
    const { id } = await requireSite(ctx, site)
    const sending = { options, site: id, asks, format, system: map.system, prepared }
    return await sendPrepared(ctx, { ...destination, ...sending })
  } catch (error) {
    await discard(prepared)
    throw error
  }
}

async function requireFreeOutputs({ refusedOut, failedOut, receiptOut }: ImportFlags): Promise<void> {
  if (refusedOut !== undefined) await requireFree(refusedOut, '--refused-out')
  if (failedOut !== undefined) await requireFree(failedOut, '--failed-out')
  if (receiptOut !== undefined) await requireFree(receiptOut, '--receipt-out')
}

async function resumeImport(ctx: Context, options: ImportFlags, job: string): Promise<Output<unknown>> {
  const { operands, resume: _, failedOut: __, receiptOut: ___, ignoreQuota: ____, yes: _____, ...others } = options
  if (options.refusedOut !== undefined)
    throw usageError(
      '--refused-out cannot be used with --resume: it lists rows rejected while reading the files',
      'to list them: consentctl import FILE… --dry-run --refused-out FILE, with the same flags',
    )
  const isOther = operands.length > 0 || Object.values(others).some(value => value !== undefined)
  if (isOther)
    throw usageError(
      'with --resume, the job already contains its files, site and map',
      `leave them out: consentctl import --resume ${job}`,
    )
  requireBaseUrl(ctx.settings)
  requireApiKey(ctx.settings)
  limitHeapGrowth()
  return await (await import('./import/send.ts')).resumeSending(ctx, options, job)
}

/** A CSV has no default map. */
async function writeMapOut(
  ctx: Context,
  { operands: [file], encoding }: ImportFlags,
  path: string,
): Promise<Output<unknown>> {
  if (file === undefined) throw usageError('no file to import', 'name it: consentctl import FILE --from csv')
  const [{ describeMap, writeMap }, { openSource }] = await Promise.all([
    import('./map-out.ts'),
    import('./import/prepare/source.ts'),
  ])
  const fields = ['subject_id', 'consent_id', 'policy_version', 'ip_address', 'user_agent', 'accepted']
  const source = await openSource(file, ctx.interruption)
  try {
    const { value: part } = await source.parts(undefined).next()
    if (!part) throw usageError(`${file} has no header`)
    const map = await writeMap({ ...part, path, fields, encoding, isImport: true })
    for (const line of describeMap(map, path, part.name)) await ctx.say(line)
  } finally {
    await source.close()
  }
  const command = ['consentctl', 'import', file, '--from', 'csv', '--map', path, '--dry-run'].map(quoteForShell)
  await ctx.say(`edit it, then: ${command.join(' ')}`)
  return many(valueView, pagesOf([]))
}

async function readMap({ io }: Context, { operands, from, map, encoding }: ImportFlags) {
  if (operands.length === 0) throw usageError('no file to import', 'name it: consentctl import FILE --from FORMAT')
  if (from === undefined)
    throw usageError('--from is missing', `the tool that wrote the files: ${formatNames.join(', ')}`)
  const { loadMap } = await import('./import/prepare/formats.ts')
  return { format: from, map: await loadMap(io, from, { map, encoding }) }
}

async function preview(ctx: Context, options: ImportFlags, format: FormatName, map: ImportMap) {
  const prepared = await prepareFiles(ctx, options, map)
  const { describePrepared } = await import('./import/prepare/prepared.ts')
  await discard(prepared)
  const { counts, values } = prepared
  const asked = await askInstance(ctx, options, prepared)
  const isTold = counts.refused > 0 && !isStopped(prepared) && !('error' in asked)
  const code = counts.refused === 0 ? exit.done : counts.records === 0 ? exit.rejected : exit.partial
  const told = isTold ? [predictExit(code)] : []
  await ctx.warn(
    `${format}: ${[...describePrepared(prepared, options.refusedOut), ...told].join('; ')}; no record was sent`,
  )
  if ('told' in asked) await ctx.warn(asked.told)
  else await report(ctx, asked.error)
  if (isStopped(prepared)) return await stop(ctx, options, prepared)
  return many(valueView, pagesOf(values), { exit: () => ('error' in asked ? exitOf(asked.error) : code) })
}

/** The exit code if rows were rejected. */
function predictExit(code: Exit): string {
  return `the import would end with exit code ${code}${code === exit.partial ? ', if the instance takes its records' : ''}`
}

async function askInstance(
  ctx: Context,
  options: ImportFlags,
  { counts, undecided, unreadable }: Prepared,
): Promise<{ readonly told: string } | { readonly error: unknown }> {
  const { settings } = ctx
  const site = options.site ?? settings.site?.value
  const because = (reason: string) => ({ told: `the instance was not asked: ${reason}` })
  if (undecided > 0) return because('values have no decision')
  if (unreadable > 0) return because('rows cannot be read')
  if (!settings.baseUrl) return because('no instance is set')
  if (!settings.apiKey) return because('no API key is set')
  if (!site) return because('--site is missing')
  const { rehearse } = await import('./import/destination.ts')
  try {
    const { ignoreQuota = false } = options
    return { told: await rehearse(ctx, { site, records: counts.records, ignoreQuota }) }
  } catch (error) {
    ctx.interruption.throwIfAborted()
    return { error }
  }
}

async function discard({ path }: Prepared): Promise<void> {
  if (path !== null) await rm(dirname(path), { recursive: true, force: true })
}

async function prepareFiles(
  ctx: Context,
  options: ImportFlags,
  map: ImportMap,
  onDecided?: () => void,
): Promise<Prepared> {
  const [{ prepare }, { jobsFolder }, { openRefusedRows }] = await Promise.all([
    import('./import/prepare/prepare.ts'),
    import('./bulk/job.ts'),
    import('./import/prepare/prepared.ts'),
  ])
  limitHeapGrowth()
  const refused = await openRefusedRows(ctx, options.refusedOut)
  let prepared: Prepared | undefined
  try {
    prepared = await prepare(options.operands, map, {
      folder: jobsFolder(ctx),
      policyVersion: options.policyVersion,
      timezone: options.timezone,
      unguard: options.csvUnguard ?? false,
      now: new Date(),
      host: ctx.host,
      signal: ctx.interruption,
      ...(onDecided && { onDecided }),
      onRefused: refused.add,
    })
    await refused.finish()
    if (!options.allowEmpty) requireRows(prepared)
    return prepared
  } catch (error) {
    if (prepared) await discard(prepared)
    throw error
  } finally {
    await refused.close()
  }
}

function isStopped({ undecided, unreadable }: Prepared): boolean {
  return undecided > 0 || unreadable > 0
}

/** @throws CliError empty (exit 5) */
function requireRows({ counts, files }: Prepared): void {
  if (counts.read > 0) return
  const names = files.map(({ name }) => name).join(', ')
  const hint = 'if that is right: --allow-empty'
  throw new CliError('empty', exit.rejected, `no row in ${names}: nothing was sent`, { hint })
}

async function stop(ctx: Context, options: ImportFlags, { values, undecided, unreadable }: Prepared) {
  if (undecided > 0) await reportUndecided(ctx, options, values)
  if (unreadable > 0) {
    const list = options.refusedOut ?? '--refused-out FILE'
    const message = `${formatCount(unreadable, 'row')} cannot be read, and may be a later answer of any person: nothing was sent`
    await report(ctx, dataError(message, `correct or remove each: ${list} lists all`))
  }
  return many(valueView, pagesOf(values), { exit: () => exit.rejected })
}

async function reportUndecided(ctx: Context, { mapOut, map }: ImportFlags, values: Prepared['values']) {
  const open = values.filter(({ becomes }) => becomes === null)
  if (mapOut !== undefined) {
    const { writeUndecided } = await import('./map-out.ts')
    await writeUndecided(ctx.io, open, { path: mapOut, map })
  }
  const hint =
    mapOut === undefined
      ? 'write them into a map to edit: --dry-run --map-out FILE'
      : `edit ${mapOut}, then use --map ${mapOut}`
  const message = `${formatCount(open.length, 'value')} of the files ${open.length === 1 ? 'has' : 'have'} no decision: nothing was sent`
  await report(ctx, new CliError('undecided', exit.rejected, message, { hint }))
}
