import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../cli/action.ts'
import { one } from '../cli/output.ts'
import { addSignInFlags, signIn, signInOptions } from '../cli/sign-in.ts'
import type { Context } from '../context.ts'
import { usage as route } from '../contract/usage.ts'
import { usageView } from '../views/account.ts'

export function usage(command: Command, ctx: Context): void {
  addSignInFlags(command)
    .addHelpText(
      'after',
      `
With an API key this counts as a request, and fails when the quota is used up. With --email or
--password-stdin you sign in instead, which does not count and always works.

Examples:
  $ consentctl usage
  $ consentctl usage --email privacy@example.com -o json`,
    )
    .action(
      action(ctx, z.strictObject(signInOptions), usageView, async (_, who) => {
        const api = who.email || who.passwordStdin ? await signIn(ctx, who) : ctx.api
        const used = await api.call(route.get, {})
        if (used.limit === null) await ctx.say('the account has no monthly limit')
        return one(usageView, used)
      }),
    )
}
