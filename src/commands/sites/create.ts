import type { Command } from 'commander'
import * as z from 'zod'
import { action, Count, collect } from '../../cli/action.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import type { Context } from '../../context.ts'
import { RetentionDays, SiteDraft, sites } from '../../contract/sites.ts'
import { PolicyVersion } from '../../contract/values.ts'
import { newSiteView } from '../../views/account.ts'

const Options = z.strictObject({
  ...signInOptions,
  ...dryRunOption,
  name: SiteDraft.shape.name,
  policyVersion: Count.pipe(PolicyVersion).optional(),
  origin: SiteDraft.shape.allowed_origins,
  retentionDays: Count.pipe(RetentionDays).optional(),
})

/** `sites create`: a site, whose token is printed this once. */
export function create(command: Command, ctx: Context): void {
  addSignInFlags(
    addDryRunFlag(command)
      .requiredOption('--name <name>', 'what people know the site by')
      .option('--policy-version <n>', 'the version of its policy (1)')
      .option('--origin <origin>', 'where its banner may be, such as https://shop.example; repeat', collect)
      .option('--retention-days <n>', 'delete records that have not changed for so long (never)'),
  )
    .addHelpText(
      'after',
      `${signInHelp}

The token is what the site's banner sends. It is printed this once: the instance keeps no more than a
hash of it. A site without origins takes no consent from a page in a browser.

Examples:
  $ consentctl sites create --email privacy@example.com --name Shop --origin https://shop.example
  $ consentctl sites create --email privacy@example.com --name Blog --policy-version 3 --json > site.json`,
    )
    .action(
      action(ctx, Options, viewUnlessDryRun(newSiteView), async (_, options) => {
        const { name, policyVersion, origin, retentionDays, dryRun, ...who } = options
        const body = {
          name,
          policy_version: policyVersion,
          allowed_origins: origin,
          retention_days: retentionDays,
        }
        if (dryRun) return dryRunOutput(ctx, [{ endpoint: sites.create, body }])
        const api = await signIn(ctx, who)
        const site = await api.call(sites.create, { body })
        await ctx.say(`created site ${site.id} on ${instanceLabel(ctx)}`)
        return one(newSiteView, site, { mutates: true })
      }),
    )
}
