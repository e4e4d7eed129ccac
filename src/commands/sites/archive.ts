import type { Command } from 'commander'
import * as z from 'zod'
import { action, Ids } from '../../cli/action.ts'
import { confirmOptions, mustPrompt, promptToConfirm } from '../../cli/confirm.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import { matching } from '../../cli/sites.ts'
import type { Context } from '../../context.ts'
import { sites } from '../../contract/sites.ts'
import { siteView } from '../../views/account.ts'

const Options = z.strictObject({
  ...signInOptions,
  operands: Ids,
  undo: z.literal(true).optional(),
  allowDuplicate: z.literal(true).optional(),
  yes: confirmOptions.yes,
})

export function archive(command: Command, ctx: Context): void {
  addSignInFlags(
    command
      .argument('<site>', 'name or id of the site')
      .option('--undo', 'restore an archived site with its tokens')
      .option('--allow-duplicate', 'with --undo: allow a name that another site has')
      .option('-y, --yes', 'skip the confirmation prompt'),
  )
    .description(`${signInHelp}

An archived site accepts no new records: creates, imports and its tokens are rejected, so its banner cannot record
anything, not even a withdrawal. Only sites list --archived lists it, and its name can be used again. Its records and
their histories stay, and a key can change and delete them.

Examples:
  $ consentctl sites archive 'Old shop'
  $ consentctl sites archive 'Old shop' --undo`)
    .action(
      action(ctx, Options, siteView, async (_, { operands, undo, allowDuplicate, yes, ...who }) => {
        const [named = ''] = operands
        const asks = !undo && mustPrompt(ctx, { yes }, { action: 'archive the site', isUncounted: true })
        const api = await signIn(ctx, who)
        const { data } = await api.call(sites.list, undo ? { query: { include_archived: true } } : {})
        const archived = data.filter(({ archived_at }) => (archived_at !== null) === Boolean(undo))
        const { id, ...site } = matching(archived.length > 0 ? archived : data, named)
        if (asks) {
          const question = { action: 'archive', noun: 'site', where: instanceLabel(ctx) }
          await promptToConfirm(ctx, siteView, [{ id, ...site }], question)
        }
        const body = { archived: !undo, allow_duplicate: allowDuplicate }
        const changed = await api.call(sites.update, { params: { id }, body })
        await ctx.say(`${undo ? 'restored site' : 'archived site'} ${id} on ${instanceLabel(ctx)}`)
        return one(siteView, changed, { mutates: true })
      }),
    )
}
