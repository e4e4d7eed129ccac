import type { Context } from '../context.ts'
import { webhooks } from '../contract/webhooks.ts'
import { webhookView } from '../views/webhook.ts'
import { type ConfirmOptions, mustPrompt, promptToConfirm } from './confirm.ts'
import { callOptional, instanceLabel } from './messages.ts'

export function callWebhooks<T>(ctx: Context, call: () => Promise<T>): Promise<T> {
  return callOptional(ctx.api, webhooks.list, call, {
    message: `${instanceLabel(ctx)} does not offer webhooks`,
    hint: 'consentctl watch --exec COMMAND',
  })
}

interface Confirmation extends Pick<ConfirmOptions, 'yes'> {
  readonly action: string
  readonly note: string
}

/** @throws CliError usage (exit 2), `not_found` (exit 3), `declined` (exit 9) */
export async function confirmWebhook(ctx: Context, id: string, { action, note, yes }: Confirmation): Promise<void> {
  if (!mustPrompt(ctx, { yes }, { action, isUncounted: true })) return
  const webhook = await callWebhooks(ctx, () => ctx.api.call(webhooks.get, { params: { id } }))
  const question = { action, noun: 'webhook', where: instanceLabel(ctx), notes: [note] }
  await promptToConfirm(ctx, webhookView, [webhook], question)
}
