import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type * as z from 'zod'
import { type confirmOptions, mustPrompt, promptToConfirm, requireConfirmedCount } from '../../cli/confirm.ts'
import { requestRow } from '../../cli/dry-run.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import { unseen } from '../../client/pages.ts'
import type { Context } from '../../context.ts'
import { describeCircumstances } from '../../contract/circumstance-words.ts'
import { consents } from '../../contract/consents.ts'
import type { FilterFlag } from '../../contract/filters.ts'
import type { Consent } from '../../contract/index.ts'
import { usageError } from '../../errors/errors.ts'
import { makeWorkFolder } from '../../jobs/process.ts'
import { safeJson, type View, visible } from '../../output/index.ts'
import { findPart } from '../../output/parts.ts'
import { type ConsentRow, consentView, type LineResult, lineView } from '../../views/consent.ts'
import { requestView } from '../../views/program.ts'
import { type CommonChange, changeOf, updates } from './bulk/changes.ts'
import { jobsFolder } from './bulk/job.ts'
import type { LineJobOptions } from './bulk/operation.ts'
import { formatOf, formatOfIds, type LineFormat, type lineFlagOptions } from './bulk/options.ts'
import { runLineJob } from './bulk/run.ts'
import { type circumstanceOptions, circumstancesOf } from './circumstances.ts'
import { type acceptance, acceptedOf, preferencesOf } from './fields.ts'
import { type FlagValues, filterFlags, findConflict, queryOf } from './filters.ts'

type ManyOptions = z.output<
  z.ZodObject<typeof acceptance & typeof circumstanceOptions & typeof lineFlagOptions & typeof confirmOptions>
> & {
  readonly operands: readonly string[]
  readonly where?: readonly string[] | undefined
  readonly replacePreferences?: true | undefined
  readonly dryRun?: true | undefined
}

export async function updateMany(ctx: Context, options: ManyOptions): Promise<Output<LineResult>> {
  const { where, resume, dryRun = false } = options
  ctx.useJsonMessages()
  const file = fileOf(options)
  if (file === '-' && options.preferences === '-')
    throw usageError('ids and --preferences cannot both be read from standard input')
  const change = {
    accepted: acceptedOf(options),
    preferences: await preferencesOf(ctx.io, options),
    replace_preferences: options.replacePreferences,
    circumstances: circumstancesOf(options),
  }
  const hasChange = change.accepted !== undefined || change.preferences !== undefined
  const operation = updates(change)
  const lineOptions: LineJobOptions = {
    ...options,
    file,
    format: formatFor(options, file, hasChange),
    ...(options.file === undefined && { allowEmpty: true }), // the ids of a list
  }
  if (where === undefined) return runLineJob(ctx, lineOptions, operation)
  if (resume !== undefined)
    throw usageError('--where cannot be used with --resume: the job already contains its records')
  if (!hasChange) throw usageError('nothing to change', 'use --accepted, --refused, --pref or --preferences')
  parseWhere(where)
  if (dryRun) return many(requestView, requestsOf(ctx, where, change, options)) as Output<never>
  const asks = mustPrompt(ctx, options, { action: 'change' })
  const ids = await planWhere(ctx, where, change, { asks, confirm: options.confirm })
  if (ids.length === 0) {
    await ctx.warn(`no record to change on ${instanceLabel(ctx)}; nothing was sent`)
    return many(lineView, pagesOf([]))
  }
  // A change can make a record stop matching, so that the selection cannot be repeated.
  const workFolder = await makeWorkFolder(jobsFolder(ctx), ctx.host)
  const found = join(workFolder, 'ids')
  await writeFile(found, ids.map(id => `${id}\n`).join(''), { mode: 0o600 })
  return runLineJob(ctx, { ...lineOptions, file: found, format: 'ids', workFolder }, operation)
}

/** @throws CliError `changed` (exit 10), after the last page */
async function* requestsOf(ctx: Context, where: readonly string[], change: CommonChange, options: ManyOptions) {
  let [found, unchanged] = [0, 0]
  for await (const records of findWhere(ctx, where)) {
    const rows = records.flatMap(record => {
      const body = changeOf(record, change)
      return body ? [requestRow(ctx, { endpoint: consents.update, params: { id: record.id }, body })] : []
    })
    found += records.length
    unchanged += records.length - rows.length
    yield rows
  }
  requireConfirmedCount(options, found, 'record', 'changed')
  const same = unchanged > 0 ? `, ${unchanged} already as wanted` : ''
  await ctx.warn(`would change ${formatCount(found - unchanged)} on ${instanceLabel(ctx)}${same}; nothing was sent`)
}

function fileOf({ operands, file, where, resume, yes, confirm }: ManyOptions): string | undefined {
  const isStdin = operands[0] === '-'
  if (operands.length > 0 && !isStdin) throw usageError(`unexpected argument "${operands[0]}"`, 'one id, or a file')
  if ([isStdin, file, where].filter(Boolean).length > 1) throw usageError('-, --file and --where cannot be combined')
  if (where === undefined && (yes || confirm !== undefined)) throw usageError('--yes and --confirm require --where')
  if (isStdin && resume !== undefined) throw usageError('standard input cannot be resumed: use --file')
  return isStdin ? '-' : file
}

/** Ids are enough if all lines have the same change. */
function formatFor(
  { format, resume }: ManyOptions,
  file: string | undefined,
  hasChange: boolean,
): LineFormat | undefined {
  if (format || resume !== undefined || file === undefined) return format
  return hasChange ? formatOfIds(file) : formatOf(file)
}

const names = filterFlags.map(({ flag }) => flag)

/** Splits only before a filter's name, because values may contain commas. */
const separator = new RegExp(`,(?=(?:${names.join('|')})(?:[=,]|$))`)

/** Parses `site=Shop,from=2026-01-01`. @throws CliError (usage) */
export function parseWhere(texts: readonly string[]): FlagValues {
  const found = new Map<FilterFlag, string>()
  for (const part of texts.flatMap(text => text.split(separator))) {
    const [name, value] = parseFilter(part)
    if (found.has(name)) throw usageError(`--where: ${name} is repeated`)
    found.set(name, value)
  }
  const conflict = findConflict(found)
  if (conflict) throw usageError(`--where: ${conflict.join(' and ')} cannot be combined`)
  return found
}

function parseFilter(text: string): [FilterFlag, string] {
  const [, word = '', given] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? []
  const { flag: name, isBare } = filterFlags.find(({ flag }) => flag === word) ?? {}
  if (!name)
    throw usageError(`--where: unknown filter "${word.split(',').at(-1)}"`, `use ${names.join(', ')}, as with list`)
  const value = isBare && given === 'true' ? undefined : given
  if (isBare && value !== undefined) throw usageError(`--where: ${name} takes no value`, `use ${name} alone`)
  if (!isBare && !value) throw usageError(`--where: ${name} needs a value`, `${name}=…`)
  return [name, value ?? '']
}

const unlimited = { limit: Number.POSITIVE_INFINITY, maxRequests: Number.POSITIVE_INFINITY }

/** Yields each record once, because the number is confirmed. */
export async function* findWhere(ctx: Context, where: readonly string[]): AsyncGenerator<readonly Consent[]> {
  const seen = new Set<string>()
  for await (const { records } of ctx.api.pages(await queryOf(ctx, parseWhere(where)), unlimited))
    yield unseen(records, seen)
}

const shownRecords = 10

/** Lists and confirms; returns ids, oldest first. @throws CliError `declined` (exit 9), `changed` (exit 10) */
export async function planWhere(
  ctx: Context,
  where: readonly string[],
  change: CommonChange,
  { asks, ...confirmation }: { readonly asks: boolean; readonly confirm?: number | undefined },
): Promise<string[]> {
  const ids: string[] = []
  const shown: Consent[] = []
  const counts = new Map<string, number>()
  let unchanged = 0
  for await (const records of findWhere(ctx, where)) {
    for (const record of records) {
      ids.push(record.id)
      if (changeOf(record, change) === null) unchanged += 1
      if (shown.length < shownRecords) shown.push(record)
      const site = record.site_id ?? '(none)'
      counts.set(site, (counts.get(site) ?? 0) + 1)
    }
  }
  requireConfirmedCount(confirmation, ids.length, 'record', 'changed')
  if (asks && ids.length > 0)
    await promptToConfirm(ctx, viewOf(change), shown, {
      action: 'change',
      noun: 'record',
      where: instanceLabel(ctx),
      counts,
      total: ids.length,
      notes: [
        `the change: ${describeWanted(change)}`,
        ...(unchanged > 0 ? [`${unchanged} of ${ids.length} already as wanted, which are not written`] : []),
      ],
    })
  return ids.reverse()
}

function viewOf({ preferences }: CommonChange): View<ConsentRow> {
  const names = Object.keys(preferences ?? {})
  const columns = names.flatMap(name => {
    const column = findPart(consentView.columns, `pref.${name}`)
    return column ? [{ ...column, rank: 3.5 }] : []
  })
  return { ...consentView, columns: [...consentView.columns.filter(({ name }) => name !== 'preferences'), ...columns] }
}

/** Such as `accepted: no; newsletter: false`. */
function describeWanted({ accepted, preferences, replace_preferences: replace, circumstances }: CommonChange): string {
  const parts = accepted === undefined ? [] : [`accepted: ${accepted ? 'yes' : 'no'}`]
  for (const [name, value] of Object.entries(preferences ?? {})) parts.push(`${name}: ${safeJson(value)}`)
  if (replace) parts.push('every other preference removed')
  for (const [label, text] of describeCircumstances(circumstances)) parts.push(`${label}: ${text}`)
  return visible(parts.join('; '))
}
