import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type * as z from 'zod'
import { type confirmOptions, mustPrompt, requireConfirmedCount } from '../../cli/confirm.ts'
import { requestRow } from '../../cli/dry-run.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import { usageError } from '../../errors/errors.ts'
import { makeWorkFolder } from '../../jobs/process.ts'
import { type LineResult, lineView } from '../../views/consent.ts'
import { requestView } from '../../views/program.ts'
import { type CommonChange, changeOf, updates } from './bulk/changes.ts'
import { jobsFolder } from './bulk/job.ts'
import type { LineJobOptions } from './bulk/operation.ts'
import { formatOf, formatOfIds, type LineFormat, type lineFlagOptions, toLineOptions } from './bulk/options.ts'
import { runLineJob } from './bulk/run.ts'
import { type acceptance, acceptedOf, preferencesOf } from './fields.ts'
import { findWhere, parseWhere, planWhere } from './where.ts'

type ManyOptions = z.output<z.ZodObject<typeof acceptance & typeof lineFlagOptions & typeof confirmOptions>> & {
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
  }
  const hasChange = change.accepted !== undefined || change.preferences !== undefined
  const operation = updates(change)
  const lineOptions: LineJobOptions = {
    ...toLineOptions(options),
    ...{
      file,
      format: formatFor(options, file, hasChange),
      site: undefined,
      siteFlag: undefined,
      batch: false,
      dryRun,
      allowEmpty: options.allowEmpty === true || options.file === undefined, // the ids of a list
    },
  }
  if (where === undefined) return runLineJob(ctx, lineOptions, operation)
  if (resume !== undefined) throw usageError('--where cannot be used with --resume: the job has its records')
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

/** Ids are enough if all lines get the same change. */
function formatFor(
  { format, resume }: ManyOptions,
  file: string | undefined,
  hasChange: boolean,
): LineFormat | undefined {
  if (format || resume !== undefined || file === undefined) return format
  return hasChange ? formatOfIds(file) : formatOf(file)
}
