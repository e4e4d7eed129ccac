import type { Command } from 'commander'
import * as z from 'zod'
import { action, Ids } from '../../cli/action.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import type { Consent } from '../../contract/index.ts'
import { usageError } from '../../errors/errors.ts'
import { safeJson } from '../../output/index.ts'
import { consentView } from '../../views/consent.ts'
import { acceptance, acceptanceFlags, acceptedOf, preferencesOf } from './fields.ts'

const Options = z.strictObject({
  ...acceptance,
  ...dryRunOption,
  operands: Ids,
  replacePreferences: z.literal(true).optional(),
})

export function update(command: Command, ctx: Context): void {
  acceptanceFlags(addDryRunFlag(command.argument('<id>', 'id of the record')))
    .option('--replace-preferences', 'remove preferences that are not given')
    .addHelpText(
      'after',
      `
Examples:
  $ consentctl update 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --refused
  $ consentctl update 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --pref marketing=false`,
    )
    .action(action(ctx, Options, viewUnlessDryRun(consentView), run))
}

async function run(ctx: Context, options: z.output<typeof Options>) {
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

/** Reads the record only to merge preferences, because that costs a unit of the quota. */
async function readChange(ctx: Context, id: string, options: z.output<typeof Options>) {
  const accepted = acceptedOf(options)
  const given = await preferencesOf(ctx.io, options)
  if (accepted === undefined && given === undefined)
    throw usageError('nothing to change', 'use --accepted, --refused, --pref or --preferences')
  if (options.replacePreferences && !given) throw usageError('--replace-preferences requires --pref or --preferences')
  const before = given && !options.replacePreferences ? await ctx.api.consents.get({ params: { id } }) : null
  return { before, body: { accepted, preferences: given && { ...before?.preferences, ...given } } }
}

function differences(before: Consent, after: Consent): string[] {
  const was = before.preferences ?? {}
  const is = after.preferences ?? {}
  const lines = before.accepted === after.accepted ? [] : [`accepted: ${before.accepted} → ${after.accepted}`]
  for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
    const old = shown(was, name)
    const now = shown(is, name)
    if (old !== now) lines.push(`${name}: ${old} → ${now}`)
  }
  return lines
}

function shown(preferences: Readonly<Record<string, unknown>>, name: string): string {
  return Object.hasOwn(preferences, name) ? safeJson(preferences[name]) : 'not set'
}
