import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { callOptional, instanceLabel } from '../../cli/messages.ts'
import { countedList } from '../../cli/output.ts'
import { addSignInFlags, keyOrSignIn, signInOptions } from '../../cli/sign-in.ts'
import type { Context } from '../../context.ts'
import { sites } from '../../contract/sites.ts'
import { rememberSites } from '../../settings/known-sites.ts'
import { siteView } from '../../views/account.ts'

export function list(command: Command, ctx: Context): void {
  addSignInFlags(command)
    .addHelpText(
      'after',
      `
A key with the scope read is enough, and takes no request of the quota. With --email or --password-stdin, or
without a key, you sign in instead. Tokens are not shown, because the instance keeps just hashes of them.

Examples:
  $ consentctl sites list
  $ consentctl sites list --email privacy@example.com --password-stdin -o json < password.txt`,
    )
    .action(
      action(ctx, z.strictObject(signInOptions), siteView, async (_, options) => {
        const api = await keyOrSignIn(ctx, options)
        const { data } = await callOptional(api, sites.list, () => api.call(sites.list, {}), {
          message: `${instanceLabel(ctx)} does not list its sites`,
          hint: 'use the id of the site',
        })
        rememberSites(
          ctx.settings,
          data.map(({ name }) => name),
        )
        return countedList(ctx, siteView, data, 'site')
      }),
    )
}
