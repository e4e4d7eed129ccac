import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors/errors.ts'
import { readConfiguration, requireConfigFolder, unknownProfile } from '../../settings/settings.ts'
import { own, removeProfile } from '../../settings/store.ts'

const Options = z.strictObject({ operands: z.tuple([nonEmpty]) })

/** `config remove`: forgets a profile and its key; the key itself stays valid until it is revoked. */
export function remove(command: Command, ctx: Context): void {
  command
    .argument('<profile>', 'its name, as config profiles has it')
    .addHelpText(
      'after',
      `
Its stored key is forgotten with it. To end that key everywhere, revoke it first: consentctl keys revoke.
A protected profile is not removed before: consentctl config unset protected -p NAME.

Examples:
  $ consentctl config remove staging
  $ consentctl config remove local`,
    )
    .action(
      action(ctx, Options, async (_, { operands: [name] }) => {
        const place = readConfiguration(ctx.globals, ctx.host)
        const folder = requireConfigFolder(place)
        const profile = own(place.config.profiles, name)
        if (!profile) throw unknownProfile({ value: name, source: 'what was given' }, place.config)
        if (profile.protected)
          throw usageError(`profile ${name} is protected`, `consentctl config unset protected -p ${name}`)
        await removeProfile(folder, name)
        await ctx.say(`removed profile ${name}, and its key if there was one`)
        return undefined
      }),
    )
}
