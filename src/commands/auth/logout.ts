import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import { removeKey } from '../../settings/store.ts'

export function logout(command: Command, ctx: Context): void {
  command
    .description(`
The key is only removed from this machine. To revoke it: consentctl keys revoke.

Examples:
  $ consentctl auth logout
  $ consentctl auth logout -p staging`)
    .action(
      action(ctx, z.strictObject({}), async () => {
        const { folder, profile, apiKey } = ctx.settings
        const isRemoved = await removeKey(folder, profile.value)
        await ctx.say(isRemoved ? `removed the key of profile ${profile.value}` : `profile ${profile.value} has no key`)
        if (apiKey && !apiKey.source.endsWith('credentials.json'))
          await ctx.say(`note: the key of ${apiKey.source} is still used`)
      }),
    )
}
