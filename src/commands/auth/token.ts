import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { one } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { requireApiKey, requireBaseUrl } from '../../settings/settings.ts'
import { tokenView } from '../../views/program.ts'

export function token(command: Command, ctx: Context): void {
  command
    .description(`
Prints the whole key: be careful where it goes. It is the key that requests to the current instance use; a profile's key is not printed for another address. No request is sent.

Examples:
  $ consentctl auth token
  $ consentctl auth token -q -p staging --out key.txt`)
    .action(
      action(ctx, z.strictObject({}), tokenView, async () => {
        const instance = requireBaseUrl(ctx.settings)
        const { value, source } = await requireApiKey(ctx.settings).read()
        await ctx.say(`the key for ${instance}, from ${source}`)
        return one(tokenView, { api_key: value, source })
      }),
    )
}
