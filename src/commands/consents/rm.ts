import type { Command } from 'commander'
import * as z from 'zod'
import { action, OptionalIds } from '../../cli/action.ts'
import {
  addConfirmFlags,
  confirmOptions,
  mustPrompt,
  promptToConfirm,
  requireConfirmedCount,
} from '../../cli/confirm.ts'
import { addDryRunFlag, dryRunOfFiles, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { expandIds, runForEach } from '../../cli/ids.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import { many, type Output } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import type { Consent } from '../../contract/index.ts'
import { exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import type { View } from '../../output/index.ts'
import { type ConsentRow, consentView, lineView } from '../../views/consent.ts'
import { addLineFlags, lineFlagOptions, rejectLineFlags } from './bulk/options.ts'

const Options = z.strictObject({
  ...dryRunOption,
  ...confirmOptions,
  ...lineFlagOptions,
  operands: OptionalIds,
  ignoreMissing: z.literal(true).optional(),
})

type Options = z.output<typeof Options>

export function rm(command: Command, ctx: Context): void {
  const flags = addConfirmFlags(
    command.argument('[id...]', 'ids of records; - reads them from standard input'),
    'record',
  ).option('--ignore-missing', 'skip ids without a record')
  addDryRunFlag(
    addLineFlags(flags, {
      file: 'delete the records whose ids are in a file',
      resume: 'resume deletions that were stopped',
    }),
    dryRunOfFiles,
  )
    .description(`
list and get show a deleted record only with --include-deleted; its history stays. Without --yes the records are
shown and you confirm with y, or for several records by typing their number. To be prompted about the results of a
list, pass its ids as arguments: rm $(consentctl list --subject maria@example.com -q)

With --confirm N each record is read first, and none is deleted unless exactly N exist.

--file reads one id per line (or the column "id" of a CSV, as printed by list), and deletes as a job that can be
resumed. You see the first records and confirm the number of lines; ids must not repeat. Results and exit codes are
those of create --file.

Examples:
  $ consentctl rm 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl list --subject maria@example.com -q | consentctl rm - --confirm 3`)
    .action(action(ctx, Options, options => viewOf(options), run))
}

function isOfFile({ file, resume }: Options): boolean {
  return file !== undefined || resume !== undefined
}

function viewOf(options: Options): View<never> {
  return isOfFile(options) ? lineView : viewUnlessDryRun(consentView)(options)
}

async function run(ctx: Context, options: Options): Promise<Output<unknown>> {
  if (isOfFile(options)) return (await (await import('./rm-many.ts')).removeLines(ctx, options)) as Output<unknown>
  if (options.operands.length === 0)
    throw usageError("missing required argument 'id'", 'for many records: --file, or - for ids on stdin')
  rejectLineFlags(options)
  return (await removeIds(ctx, options)) as Output<unknown>
}

async function removeIds(ctx: Context, { operands, ignoreMissing, dryRun, ...confirmation }: Options) {
  const asks = !dryRun && mustPrompt(ctx, confirmation, { action: 'delete', stdinInUse: operands.includes('-') })
  const ids = await expandIds(ctx, operands)
  if (dryRun)
    return dryRunOutput(
      ctx,
      ids.map(id => ({ endpoint: consents.remove, params: { id } })),
    )
  if (asks || confirmation.confirm !== undefined) {
    const found = await find(ctx, ids, Boolean(ignoreMissing) || !asks)
    const there = new Set(found.map(({ id }) => id))
    const missing = ids.filter(id => !there.has(id))
    if (missing.length > 0) await ctx.say(`not found: ${missing.join(', ')}`)
    requireConfirmedCount(confirmation, found.length, 'record', 'deleted')
    if (asks && found.length > 0) await confirmRecords(ctx, found)
  }
  const { pages, exit: exitOfAll } = runForEach(
    ctx,
    ids,
    id => remove(ctx, id, ignoreMissing),
    done => ctx.say(`deleted ${formatCount(done)} on ${instanceLabel(ctx)}`),
  )
  return many(consentView, pages, {
    mutates: true,
    exit: exitOfAll,
    single: operands.length === 1 && operands[0] !== '-',
  })
}

async function remove(ctx: Context, id: string, ignoreMissing: true | undefined): Promise<ConsentRow[]> {
  try {
    return [(await ctx.api.consents.remove({ params: { id } })) ?? { id }] // a 204 has no record
  } catch (error) {
    if (ignoreMissing && exitOf(error) === exit.notFound) return []
    throw error
  }
}

/** @throws ApiError for a missing record, unless `mayMiss` */
async function find(ctx: Context, ids: readonly string[], mayMiss: boolean): Promise<Consent[]> {
  const records: Consent[] = []
  for (const id of ids) {
    try {
      records.push(await ctx.api.consents.get({ params: { id } }))
    } catch (error) {
      if (!mayMiss || exitOf(error) !== exit.notFound) throw error
    }
  }
  return records
}

async function confirmRecords(ctx: Context, records: readonly Consent[]): Promise<void> {
  const counts = new Map<string, number>()
  for (const { site_id } of records) counts.set(site_id ?? '(none)', (counts.get(site_id ?? '(none)') ?? 0) + 1)
  await promptToConfirm(ctx, consentView, records, {
    action: 'delete',
    noun: 'record',
    where: instanceLabel(ctx),
    counts,
  })
}
