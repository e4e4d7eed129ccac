import type { Command } from 'commander'
import * as z from 'zod'
import { action, Ids, nonEmpty } from '../../cli/action.ts'
import { confirmOptions } from '../../cli/confirm.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { startInstant } from '../../cli/time.ts'
import { callWebhooks, confirmWebhook } from '../../cli/webhooks.ts'
import type { Context } from '../../context.ts'
import { webhooks } from '../../contract/webhooks.ts'
import { webhookView } from '../../views/webhook.ts'

const RmOptions = z.strictObject({ ...dryRunOption, operands: Ids, yes: confirmOptions.yes })
const Options = RmOptions.extend({ to: nonEmpty })

export function rewind(command: Command, ctx: Context): void {
  addDryRunFlag(command)
    .argument('<id>', 'id of the webhook (see webhooks list)')
    .requiredOption('--to <place>', 'behind this position, at a time (RFC 3339, 2026-01-31, 7d), or start')
    .option('-y, --yes', 'skip the confirmation prompt')
    .description(`
Sends again every event behind the position (1041: from 1042 on), from the time on, or with --to start all events, with
the ids that they had: a receiver that remembers ids ignores those that it has. What is undelivered before that place is
given up.

Examples:
  $ consentctl webhooks rewind 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --to 1041
  $ consentctl webhooks rewind 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --to 7d --yes`)
    .action(action(ctx, Options, viewUnlessDryRun(webhookView), run))
}

async function run(ctx: Context, { operands: [id = ''], to, yes, dryRun }: z.output<typeof Options>) {
  const { body, place } = readPlace(to)
  const request = { params: { id }, body }
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: webhooks.rewind, ...request }])
  const note = `Events ${place} are sent again; what is undelivered before is given up.`
  await confirmWebhook(ctx, id, { action: 'rewind', note, yes })
  const webhook = await callWebhooks(ctx, () => ctx.api.call(webhooks.rewind, request))
  await ctx.say(`rewound webhook ${webhook.id} on ${instanceLabel(ctx)}: events ${place} are sent again`)
  return one(webhookView, webhook, { mutates: true })
}

function readPlace(to: string) {
  if (to === 'start') return { body: { after: null }, place: 'from the first on' }
  if (/^\d+$/.test(to)) return { body: { after: Number(to) }, place: `behind position ${Number(to)}` }
  const from = startInstant(to, new Date())
  return { body: { from }, place: `from ${from} on` }
}

export function rm(command: Command, ctx: Context): void {
  addDryRunFlag(command)
    .argument('<id>', 'id of the webhook (see webhooks list)')
    .option('-y, --yes', 'skip the confirmation prompt')
    .description(`
What is undelivered is given up, and the secret is lost. To stop it for a while, use webhooks update --pause.

Examples:
  $ consentctl webhooks rm 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl webhooks rm 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --yes`)
    .action(
      action(ctx, RmOptions, viewUnlessDryRun(webhookView), async (_, { operands: [id = ''], yes, dryRun }) => {
        const params = { id }
        if (dryRun) return dryRunOutput(ctx, [{ endpoint: webhooks.remove, params }])
        await confirmWebhook(ctx, id, { action: 'remove', note: 'Its secret and what is undelivered are lost.', yes })
        const webhook = await callWebhooks(ctx, () => ctx.api.call(webhooks.remove, { params }))
        await ctx.say(`removed webhook ${webhook.id} on ${instanceLabel(ctx)}`)
        return one(webhookView, webhook, { mutates: true })
      }),
    )
}
