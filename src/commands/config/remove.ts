import type { Command } from 'commander'
import * as z from 'zod'
import { action, given } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors/errors.ts'
import { locate, requireFolder, unknownProfile } from '../../settings/place.ts'
import { own } from '../../settings/store.ts'
import { removeProfile } from '../../settings/store-write.ts'

const Options = z.strictObject({ operands: z.tuple([given]) })

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
        const place = locate(ctx.globals, ctx.host)
        const folder = requireFolder(place)
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
