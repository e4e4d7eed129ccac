import type { Command } from 'commander'
import * as z from 'zod'
import { action, collect, Ids, nonEmpty } from '../../cli/action.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { siteIdsOf } from '../../cli/sites.ts'
import { callWebhooks } from '../../cli/webhooks.ts'
import type { Context } from '../../context.ts'
import { WebhookChange, webhooks } from '../../contract/webhooks.ts'
import { usageError } from '../../errors/errors.ts'
import { webhookView } from '../../views/webhook.ts'

const given = z.literal(true).optional()

const Options = z.strictObject({
  ...dryRunOption,
  operands: Ids,
  url: WebhookChange.shape.url,
  type: WebhookChange.shape.types,
  allTypes: given,
  site: z.array(nonEmpty).optional(),
  allSites: given,
  pause: given,
  resume: given,
})

export function update(command: Command, ctx: Context): void {
  addDryRunFlag(command)
    .argument('<id>', 'id of the webhook (see webhooks list)')
    .option('--url <url>', 'new address')
    .option('--type <type>', 'only events of this type; repeatable', collect)
    .option('--all-types', 'events of every type')
    .option('--site <site>', 'only events of this site, by its name or id; repeatable', collect)
    .option('--all-sites', 'events of every site, and account.… events')
    .option('--pause', 'send nothing until --resume')
    .option('--resume', 'continue where it stopped')
    .description(`
It keeps its secret and its place in the feed, also with another address. Unless it is paused, an undelivered event is
tried immediately.

Examples:
  $ consentctl webhooks update 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --type withdrawn --all-sites
  $ consentctl webhooks update 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --resume`)
    .action(action(ctx, Options, viewUnlessDryRun(webhookView), run))
}

async function run(ctx: Context, { operands: [id = ''], dryRun, ...changes }: z.output<typeof Options>) {
  const { url, type, allTypes, site, allSites, pause, resume } = changes
  if (Object.values(changes).every(value => value === undefined))
    throw usageError('nothing to change', 'use --url, --type, --all-types, --site, --all-sites, --pause or --resume')
  if ((type && allTypes) || (site && allSites) || (pause && resume))
    throw usageError('--type and --all-types, --site and --all-sites, --pause and --resume cannot be combined')
  const types = allTypes ? null : type
  const site_ids = allSites ? null : site && (await siteIdsOf(ctx, site))
  const request = { params: { id }, body: { url, types, site_ids, paused: resume ? false : pause } }
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: webhooks.update, ...request }])
  const webhook = await callWebhooks(ctx, () => ctx.api.call(webhooks.update, request))
  await ctx.say(`updated webhook ${webhook.id} on ${instanceLabel(ctx)}`)
  return one(webhookView, webhook, { mutates: true })
}
