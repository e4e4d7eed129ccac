import type { Command } from 'commander'
import * as z from 'zod'
import { action, Ids } from '../../cli/action.ts'
import { one } from '../../cli/output.ts'
import { callWebhooks } from '../../cli/webhooks.ts'
import type { Context } from '../../context.ts'
import { webhooks } from '../../contract/webhooks.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { report } from '../../errors/report.ts'
import { attemptView } from '../../views/webhook.ts'

export function test(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'id of the webhook (see webhooks list)')
    .description(`
The service sends {"type":"test"}, signed like an event, also if the webhook is paused. Exit code 0 if the response was
2xx, otherwise 8.

Examples:
  $ consentctl webhooks test 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl webhooks test 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --json=status,ms,problem`)
    .action(
      action(ctx, z.strictObject({ operands: Ids }), attemptView, async (_, { operands: [id = ''] }) => {
        const attempt = await callWebhooks(ctx, () => ctx.api.call(webhooks.test, { params: { id } }))
        const { problem } = attempt
        if (problem === null) return one(attemptView, attempt, { mutates: true })
        const error = new CliError('not_delivered', exit.partial, `the test was not delivered: ${problem}`)
        return one(attemptView, attempt, { mutates: true, exit: () => error.exit, footer: () => report(ctx, error) })
      }),
    )
}
