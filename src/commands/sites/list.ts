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

const Options = z.strictObject({ ...signInOptions, archived: z.literal(true).optional() })

export function list(command: Command, ctx: Context): void {
  addSignInFlags(command.option('--archived', 'list archived sites too'))
    .description(`
A key with the scope read is enough, and does not count against the quota. With --email or --password-stdin, or
without a key, you sign in instead. Tokens are not shown, because the instance stores only their hashes.

Examples:
  $ consentctl sites list
  $ consentctl sites list --email privacy@example.com --password-stdin -o json < password.txt`)
    .action(
      action(ctx, Options, siteView, async (_, { archived, ...options }) => {
        const api = await keyOrSignIn(ctx, options)
        const query = { include_archived: archived }
        const { data } = await callOptional(api, sites.list, () => api.call(sites.list, { query }), {
          message: `${instanceLabel(ctx)} does not list its sites`,
          hint: 'use the id of the site',
        })
        rememberSites(
          ctx.settings,
          data.filter(({ archived_at }) => archived_at === null).map(({ name }) => name),
        )
        return countedList(ctx, siteView, data, 'site')
      }),
    )
}
