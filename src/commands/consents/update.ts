import type { Command } from 'commander'
import * as z from 'zod'
import { action, collect, nonEmpty, OptionalIds } from '../../cli/action.ts'
import { addConfirmFlags, confirmOptions } from '../../cli/confirm.ts'
import { addDryRunFlag, dryRunOfFiles, dryRunOption, dryRunOutput } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { type Output, one } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import type { Consent } from '../../contract/index.ts'
import { usageError } from '../../errors/errors.ts'
import type { View } from '../../output/index.ts'
import { changesOf } from '../../views/changes.ts'
import { consentView, lineView } from '../../views/consent.ts'
import { requestView } from '../../views/program.ts'
import { addLineFlags, lineFlagOptions, rejectLineFlags } from './bulk/options.ts'
import { circumstanceFlags, circumstanceOptions, circumstancesOf } from './circumstances.ts'
import { acceptance, acceptanceFlags, acceptedOf, preferencesOf } from './fields.ts'
import { filterFlags } from './filters.ts'

const Options = z.strictObject({
  ...acceptance,
  ...circumstanceOptions,
  ...dryRunOption,
  ...confirmOptions,
  ...lineFlagOptions,
  operands: OptionalIds,
  where: z.array(nonEmpty).optional(),
  replacePreferences: z.literal(true).optional(),
})
type Options = z.output<typeof Options>

export function update(command: Command, ctx: Context): void {
  const single = acceptanceFlags(command.argument('[id]', 'id of the record; - reads ids or changes, one per line'))
    .option('--replace-preferences', 'remove all preferences that are not given')
    .option('--where <filters>', 'change every record that matches these list filters', collect)
  circumstanceFlags(single)
  addConfirmFlags(single, 'record')
  addDryRunFlag(
    addLineFlags(single, {
      file: 'change a record for each line of a file',
      resume: 'resume changes that were stopped',
    }),
    dryRunOfFiles,
  )
    .description(`
A line of a file is {"id", "accepted", "preferences", "circumstances"}, or a row of CSV with these columns;
preferences are merged into the existing ones. With a change in flags, lines are ids; a field in a line overrides the
flag. A record that already has the values is not written ("unchanged"). Jobs, results and exit codes are those of
create --file.

The flags from --method to --note tell how the answer was given, which the history and receipts then state.

--where selects records: it takes ${flagNames(false)} with a value, and ${flagNames(true)}
without. You confirm the number of records, or pass --confirm N.

Examples:
  $ consentctl update 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --refused
  $ consentctl list --subject maria@example.com -q | consentctl update - --pref marketing=false
  $ consentctl update --where site=Shop,from=2026-01-01 --pref newsletter=false
  $ consentctl update --file changes.csv`)
    .action(action(ctx, Options, options => viewOf(options), run))
}

function flagNames(isBare: boolean): string {
  return filterFlags
    .filter(each => each.isBare === isBare)
    .map(({ flag }) => flag)
    .join(', ')
}

function isMany({ operands, file, where, resume }: Options): boolean {
  return operands[0] === '-' || [file, where, resume].some(flag => flag !== undefined)
}

function viewOf(options: Options): View<never> {
  const isOfRecords = !isMany(options) || options.where !== undefined
  return isOfRecords && options.dryRun ? requestView : isMany(options) ? lineView : consentView
}

async function run(ctx: Context, options: Options): Promise<Output<unknown>> {
  if (isMany(options)) return (await (await import('./update-many.ts')).updateMany(ctx, options)) as Output<unknown>
  if (options.operands.length === 0)
    throw usageError("missing required argument 'id'", 'for many records: --file, --where, or - for ids on stdin')
  rejectLineFlags(options)
  if (options.yes || options.confirm !== undefined) throw usageError('--yes and --confirm require --where')
  return (await updateOne(ctx, options)) as Output<unknown>
}

async function updateOne(ctx: Context, options: Options) {
  const {
    operands: [id = ''],
    dryRun,
  } = options
  const { body, before } = await readChange(ctx, id, options)
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: consents.update, params: { id }, body }])
  const record = await ctx.api.consents.update({ params: { id }, body })
  const lines = before && differences(before, record)
  for (const line of lines ?? []) await ctx.say(line)
  await ctx.say(`${lines?.length === 0 ? 'nothing to change in' : 'updated'} 1 record on ${instanceLabel(ctx)}`)
  return one(consentView, record, { mutates: true })
}

/** A read costs a unit of the quota, so only a merge reads. */
async function readChange(ctx: Context, id: string, options: Options) {
  const accepted = acceptedOf(options)
  const given = await preferencesOf(ctx.io, options)
  if (accepted === undefined && given === undefined)
    throw usageError('nothing to change', 'use --accepted, --refused, --pref or --preferences')
  if (options.replacePreferences && !given) throw usageError('--replace-preferences requires --pref or --preferences')
  const before = given && !options.replacePreferences ? await ctx.api.consents.get({ params: { id } }) : null
  const preferences = given && { ...before?.preferences, ...given }
  return { before, body: { accepted, preferences, circumstances: circumstancesOf(options) } }
}

function differences(before: Consent, after: Consent): string[] {
  const acceptance = before.accepted === after.accepted ? [] : [`accepted: ${before.accepted} → ${after.accepted}`]
  return [...acceptance, ...changesOf(after, before)]
}
