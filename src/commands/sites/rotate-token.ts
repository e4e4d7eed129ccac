import type { Command } from 'commander'
import * as z from 'zod'
import { action, Hours, Ids } from '../../cli/action.ts'
import { confirmOptions, mustPrompt, promptToConfirm } from '../../cli/confirm.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import { findSite, siteIdOf } from '../../cli/sites.ts'
import type { Context } from '../../context.ts'
import { sites, TokenRotation } from '../../contract/sites.ts'
import { isUuid } from '../../contract/uuid.ts'
import { newTokenView, siteView } from '../../views/account.ts'

const Options = z.strictObject({
  ...signInOptions,
  ...dryRunOption,
  operands: Ids,
  overlap: Hours.pipe(TokenRotation.shape.overlap_hours.unwrap()).optional(),
  yes: confirmOptions.yes,
})

export function rotateToken(command: Command, ctx: Context): void {
  addSignInFlags(
    addDryRunFlag(command)
      .argument('<site>', 'name or id of the site')
      .option('--overlap <hours>', 'hours until older tokens expire (24); 0 revokes them immediately')
      .option('-y, --yes', 'with --overlap 0: skip the confirmation prompt'),
  )
    .description(`${signInHelp}

The new token is printed only once. Put it in the site's pages before the overlap ends: a page with an
expired token records no consent. Use --overlap 0 for a token that is misused; it prompts first.

Examples:
  $ consentctl sites rotate-token Shop --overlap 72
  $ consentctl sites rotate-token 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --json --out token.json`)
    .action(action(ctx, Options, viewUnlessDryRun(newTokenView), run))
}

async function run(ctx: Context, options: z.output<typeof Options>) {
  const {
    operands: [named = ''],
    overlap,
    yes,
    dryRun,
    ...who
  } = options
  const body = { overlap_hours: overlap }
  const asks =
    !dryRun && overlap === 0 && mustPrompt(ctx, { yes }, { action: 'end the token at once', isUncounted: true })
  const api = dryRun && isUuid(named) ? ctx.api : await signIn(ctx, who)
  const id = await siteIdOf({ api, say: ctx.say }, named)
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: sites.rotateToken, params: { id }, body }])
  if (asks) {
    const question = { action: 'end the token of', noun: 'site', where: instanceLabel(ctx) }
    await promptToConfirm(ctx, siteView, [await findSite(api, id)], question)
  }
  const token = await api.call(sites.rotateToken, { params: { id }, body })
  await ctx.say(`issued a new token for site ${token.site_id} on ${instanceLabel(ctx)}`)
  return one(newTokenView, token, { mutates: true })
}
