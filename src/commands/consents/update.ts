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

type JsonObject = Readonly<Record<string, unknown>>

/** `update`: changes acceptance and preferences. Preferences are merged with the existing ones unless replaced. */
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
    .action(
      action(ctx, Options, viewUnlessDryRun(consentView), async (_, options) => {
        const {
          operands: [id = ''],
          replacePreferences,
          dryRun,
          ...fields
        } = options
        const accepted = acceptedOf(fields)
        const given = await preferencesOf(ctx.io, fields)
        if (accepted === undefined && given === undefined) {
          throw usageError('nothing to change', 'use --accepted, --refused, --pref or --preferences')
        }
        if (replacePreferences && !given)
          throw usageError('--replace-preferences requires --pref or --preferences')
        // Only a merge has to read the record, which costs a unit of the quota.
        const before = given && !replacePreferences ? await ctx.api.consents.get({ params: { id } }) : null
        const preferences = given && { ...before?.preferences, ...given }
        const body = { accepted, preferences }
        if (dryRun) return dryRunOutput(ctx, [{ endpoint: consents.update, params: { id }, body }])
        const record = await ctx.api.consents.update({ params: { id }, body })
        const lines = before && differences(before, record)
        for (const line of lines ?? []) await ctx.say(line)
        await ctx.say(
          `${lines?.length === 0 ? 'nothing to change in' : 'updated'} 1 record on ${instanceLabel(ctx)}`,
        )
        return one(consentView, record, { mutates: true })
      }),
    )
}

/** Describes the changes of a record, one a line. */
function differences(before: Consent, after: Consent): string[] {
  const [was, is] = [before.preferences ?? {}, after.preferences ?? {}]
  const lines = before.accepted === after.accepted ? [] : [`accepted: ${before.accepted} → ${after.accepted}`]
  for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
    const [old, now] = [shown(was, name), shown(is, name)]
    if (old !== now) lines.push(`${name}: ${old} → ${now}`)
  }
  return lines
}

function shown(preferences: JsonObject, name: string): string {
  return Object.hasOwn(preferences, name) ? safeJson(preferences[name]) : 'not set'
}
