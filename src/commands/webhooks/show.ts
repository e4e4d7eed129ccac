import type { Command } from 'commander'
import * as z from 'zod'
import { action, chooseFormat, Ids } from '../../cli/action.ts'
import { countedList, one } from '../../cli/output.ts'
import { callWebhooks } from '../../cli/webhooks.ts'
import type { Context } from '../../context.ts'
import { type WebhookAttempt, webhooks } from '../../contract/webhooks.ts'
import { formats } from '../../output/index.ts'
import { attemptView, webhookDetailsView, webhookView } from '../../views/webhook.ts'

export function list(command: Command, ctx: Context): void {
  command
    .description(`
A webhook is failing if an event could not be delivered for ten minutes. It is tried again at least every hour. URLs
are shown without user, password and query. Requires a key with the scope webhooks, for every site.

Examples:
  $ consentctl webhooks list
  $ consentctl webhooks list --json=id,url,state,failing_since`)
    .action(
      action(ctx, z.strictObject({}), webhookView, async () => {
        const { data } = await callWebhooks(ctx, () => ctx.api.call(webhooks.list, {}))
        return countedList(ctx, webhookView, data, 'webhook')
      }),
    )
}

export function show(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'id of the webhook (see webhooks list)')
    .description(`
Tables show the last 100 attempts below the webhook, newest first; JSON and YAML have them as attempts.

Examples:
  $ consentctl webhooks show 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl webhooks show 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --json=state,attempts`)
    .action(
      action(ctx, z.strictObject({ operands: Ids }), webhookDetailsView, async (_, { operands: [id = ''] }) => {
        const webhook = await callWebhooks(ctx, () => ctx.api.call(webhooks.get, { params: { id } }))
        return one(webhookView, webhook, { footer: () => printAttempts(ctx, webhook.attempts) })
      }),
    )
}

async function printAttempts(ctx: Context, attempts: readonly WebhookAttempt[]): Promise<void> {
  const { globals, io } = ctx
  const format = chooseFormat(ctx)
  const isTable = (format === 'table' || format === 'wide') && !globals.columns && !globals.out
  if (!isTable || attempts.length === 0) return
  const { columns, color } = io.out
  const render = await formats[format](false)
  const options = { single: false, columns, color, header: false, wide: format === 'wide' }
  await io.out.write(`\n${render(attemptView, options).rows(attempts)}`)
}
