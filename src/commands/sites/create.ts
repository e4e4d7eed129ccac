import { type Command, Option } from 'commander'
import * as z from 'zod'
import { action, Count, collect } from '../../cli/action.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { readRetention, retentionEvents, retentionOptions } from '../../cli/retention.ts'
import { addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import type { Context } from '../../context.ts'
import { SiteDraft, sites } from '../../contract/sites.ts'
import { PolicyVersion } from '../../contract/values.ts'
import { newSiteView } from '../../views/account.ts'

const Options = z.strictObject({
  ...signInOptions,
  ...dryRunOption,
  name: SiteDraft.shape.name,
  policyVersion: Count.pipe(PolicyVersion).optional(),
  origin: SiteDraft.shape.allowed_origins,
  ...retentionOptions,
  strictNotices: z.boolean().optional(),
  allowDuplicate: z.literal(true).optional(),
})

export function create(command: Command, ctx: Context): void {
  addSignInFlags(
    addDryRunFlag(command)
      .requiredOption('--name <name>', 'name of the site')
      .option('--policy-version <n>', 'current policy version (1)')
      .option(
        '--origin <origin>',
        'origin allowed to show its banner, such as https://shop.example; repeatable',
        collect,
      )
      .option('--retain <period>', 'delete records this long after an event, such as 3y, 18m or 90d (never)')
      .addOption(new Option('--after <event>', 'with --retain: the event').choices(retentionEvents))
      .option('--strict-notices', 'reject a consent to a policy version without a published notice')
      .option('--no-strict-notices', 'accept a consent without a published notice (the default)')
      .option('--allow-duplicate', 'create the site even if another one has the name'),
  )
    .description(`${signInHelp}

The site's banner sends the token. It is printed only once: the instance stores only its hash. A site
without origins accepts no consent from browsers.

Examples:
  $ consentctl sites create --email privacy@example.com --name Shop --origin https://shop.example
  $ consentctl sites create --email privacy@example.com --name Blog --policy-version 3 --json --out site.json`)
    .action(action(ctx, Options, viewUnlessDryRun(newSiteView), run))
}

async function run(ctx: Context, options: z.output<typeof Options>) {
  const { name, policyVersion, origin, retain, after, strictNotices, allowDuplicate, dryRun, ...who } = options
  const body = {
    name,
    policy_version: policyVersion,
    allowed_origins: origin,
    retention: readRetention({ retain, after }),
    strict_notices: strictNotices,
    allow_duplicate: allowDuplicate,
  }
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: sites.create, body }])
  const api = await signIn(ctx, who)
  const site = await api.call(sites.create, { body })
  await ctx.say(`created site ${site.id} on ${instanceLabel(ctx)}`)
  return one(newSiteView, site, { mutates: true })
}
