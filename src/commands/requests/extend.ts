import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { one } from '../../cli/output.ts'
import { changeRequest, findRequest } from '../../cli/register.ts'
import type { Context } from '../../context.ts'
import { text } from '../../contract/values.ts'
import { isOverdue } from '../../domain/due.ts'
import { registerView } from '../../views/register.ts'

const Options = z.strictObject({ operands: z.tuple([text(1, 100)]), reason: text(1, 500) })

export function extend(command: Command, ctx: Context): void {
  command
    .argument('<ticket>', 'the ticket of the request')
    .requiredOption('--reason <text>', 'why one month is not enough, without names of persons')
    .description(`
Extends the period to three months after the receipt, once, and no later than the day that the request is due.
The person must be informed, with the reasons, within the first month (GDPR Art. 12(3)).

Examples:
  $ consentctl requests extend DSR-7 --reason 'many systems'
  $ consentctl requests extend DSR-7 --reason 'many requests at once' --json=due_on`)
    .action(
      action(ctx, Options, registerView, async (_, { operands: [ticket], reason }) => {
        const { id } = await findRequest(ctx.api, ticket)
        const changed = await changeRequest(ctx.api, id, { extension_reason: reason })
        await ctx.say(`${ticket} is due on ${changed.due_on}; tell the person, with the reason, within the first month`)
        return one(registerView, { ...changed, overdue: isOverdue(changed) }, { mutates: true })
      }),
    )
}
