import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors.ts'
import { safeJson } from '../../output/index.ts'
import { consentView } from '../../views/consent.ts'
import { action, Ids } from '../action.ts'
import { instanceOf } from '../instance.ts'
import { one } from '../output.ts'
import { acceptance, acceptanceFlags, acceptedOf, preferencesOf } from './fields.ts'

const Options = z.strictObject({
  ...acceptance,
  operands: Ids,
  replacePreferences: z.literal(true).optional(),
})

type JsonObject = Readonly<Record<string, unknown>>

/** `update`: what a record accepts. Preferences are merged into what is there unless they are to replace it. */
export function update(command: Command, ctx: Context): void {
  acceptanceFlags(command.argument('<id>', 'the id of the record'))
    .option('--replace-preferences', 'drop the preferences that are not given')
    .addHelpText(
      'after',
      `
Examples:
  $ consentctl update 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --refused
  $ consentctl update 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --pref marketing=false`,
    )
    .action(
      action(ctx, Options, async (_, { operands: [id = ''], replacePreferences, ...fields }) => {
        const accepted = acceptedOf(fields)
        const given = await preferencesOf(ctx.io, fields)
        if (accepted === undefined && given === undefined) {
          throw usageError('nothing to change', 'give --accepted, --refused, --pref or --preferences')
        }
        if (replacePreferences && !given)
          throw usageError('--replace-preferences needs --pref or --preferences')
        const before = given && !replacePreferences ? await preferencesAt(ctx, id) : {}
        const preferences = given && { ...before, ...given }
        const record = await ctx.api.consents.update({ params: { id }, body: { accepted, preferences } })
        if (!replacePreferences) for (const line of differences(before, given ?? {})) await ctx.say(line)
        await ctx.say(`updated 1 record on ${instanceOf(ctx)}`)
        return one(consentView, record, { mutates: true })
      }),
    )
}

async function preferencesAt(ctx: Context, id: string): Promise<JsonObject> {
  return (await ctx.api.consents.get({ params: { id } })).preferences ?? {}
}

/** What the given preferences change of those before, a line each. */
function differences(before: JsonObject, given: JsonObject): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const was = Object.hasOwn(before, name) ? safeJson(before[name]) : 'not set'
    return was === safeJson(value) ? [] : [`${name}: ${was} → ${safeJson(value)}`]
  })
}
