import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { countedList } from '../../cli/output.ts'
import { addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import type { Context } from '../../context.ts'
import { sites } from '../../contract/sites.ts'
import { siteView } from '../../views/account.ts'

export function list(command: Command, ctx: Context): void {
  addSignInFlags(command)
    .addHelpText(
      'after',
      `${signInHelp}

Examples:
  $ consentctl sites list --email privacy@example.com
  $ consentctl sites list --email privacy@example.com --password-stdin -o json < password.txt`,
    )
    .action(
      action(ctx, z.strictObject(signInOptions), siteView, async (_, options) => {
        const api = await signIn(ctx, options)
        const { data } = await api.call(sites.list, {})
        return countedList(ctx, siteView, data, 'site')
      }),
    )
}
