import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../cli/action.ts'
import { one } from '../cli/output.ts'
import { addSignInFlags, signIn, signInOptions } from '../cli/sign-in.ts'
import type { Context } from '../context.ts'
import { usage as route } from '../contract/usage.ts'
import { describeUsage, usageView } from '../views/account.ts'

export function usage(command: Command, ctx: Context): void {
  addSignInFlags(command)
    .description(`
The exit code is 0 even if the quota is used up: reading the usage does not count against it. With --email or
--password-stdin you sign in instead.

Examples:
  $ consentctl usage
  $ consentctl usage --email privacy@example.com -o json`)
    .action(
      action(ctx, z.strictObject(signInOptions), usageView, async (_, who) => {
        const api = who.email || who.passwordStdin ? await signIn(ctx, who) : ctx.api
        const used = await api.call(route.get, {})
        const state = describeUsage(used)
        if (state !== null) await ctx.say(state)
        return one(usageView, used)
      }),
    )
}
