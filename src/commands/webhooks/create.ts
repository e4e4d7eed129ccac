import type { Command } from 'commander'
import * as z from 'zod'
import { action, collect, Hours, Ids, nonEmpty } from '../../cli/action.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { siteIdsOf } from '../../cli/sites.ts'
import { callWebhooks } from '../../cli/webhooks.ts'
import type { Context } from '../../context.ts'
import { SecretRotation, WebhookDraft, webhooks } from '../../contract/webhooks.ts'
import { newWebhookView } from '../../views/webhook.ts'

const Options = z.strictObject({
  ...dryRunOption,
  operands: z.tuple([WebhookDraft.shape.url]),
  type: WebhookDraft.shape.types,
  site: z.array(nonEmpty).optional(),
  ed25519: z.literal(true).optional(),
})

export function create(command: Command, ctx: Context): void {
  addDryRunFlag(command)
    .argument('<url>', 'address that gets the events, https://…')
    .option('--type <type>', 'only events of this type, such as withdrawn or erased; repeatable (every type)', collect)
    .option('--site <site>', 'only events of this site, by its name or id; repeatable (every site)', collect)
    .option('--ed25519', 'sign with Ed25519, so that the receiver needs only a public key')
    .description(`
Each event of the feed (see watch) is sent as a POST, signed by Standard Webhooks 1.0: at least once, and those of a
record in their order. A delivery that fails is tried again until it succeeds. It begins with the next event; webhooks
rewind sends earlier ones.

The secret, which verifies the signatures, is printed only once. With --ed25519 there is a public key instead. With
--site it gets no account.… events. Requires a key with the scope webhooks, for every site.

Examples:
  $ consentctl webhooks create https://crm.example.com/consents --type withdrawn --type erased
  $ consentctl webhooks create https://crm.example.com/consents --site Shop --json --out webhook.json`)
    .action(action(ctx, Options, viewUnlessDryRun(newWebhookView), run))
}

async function run(ctx: Context, { operands: [url], type, site, ed25519, dryRun }: z.output<typeof Options>) {
  const site_ids = site && (await siteIdsOf(ctx, site))
  const body = { url, types: type, site_ids, signature: ed25519 && ('v1a' as const) }
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: webhooks.create, body }])
  const webhook = await callWebhooks(ctx, () => ctx.api.call(webhooks.create, { body }))
  await ctx.say(`created webhook ${webhook.id} on ${instanceLabel(ctx)}`)
  return one(newWebhookView, webhook, { mutates: true })
}

const RotateOptions = z.strictObject({
  ...dryRunOption,
  operands: Ids,
  overlap: Hours.pipe(SecretRotation.shape.overlap_hours.unwrap()).optional(),
})

export function rotateSecret(command: Command, ctx: Context): void {
  addDryRunFlag(command)
    .argument('<id>', 'id of the webhook (see webhooks list)')
    .option('--overlap <hours>', 'hours in which the previous secret signs, too (24); 0 ends it immediately')
    .description(`
The new secret is printed only once. During the overlap each delivery has a signature of both secrets, so that the
receiver verifies it with either.

Examples:
  $ consentctl webhooks rotate-secret 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl webhooks rotate-secret 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --overlap 72 --json --out secret.json`)
    .action(action(ctx, RotateOptions, viewUnlessDryRun(newWebhookView), rotate))
}

async function rotate(ctx: Context, { operands: [id = ''], overlap, dryRun }: z.output<typeof RotateOptions>) {
  const request = { params: { id }, body: { overlap_hours: overlap } }
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: webhooks.rotateSecret, ...request }])
  const webhook = await callWebhooks(ctx, () => ctx.api.call(webhooks.rotateSecret, request))
  await ctx.say(`issued a new secret for webhook ${webhook.id} on ${instanceLabel(ctx)}`)
  return one(newWebhookView, webhook, { mutates: true })
}
