import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { many, one, pagesOf } from '../../cli/output.ts'
import { callRegister, findRequest } from '../../cli/register.ts'
import type { Context } from '../../context.ts'
import { requests } from '../../contract/requests.ts'
import { text } from '../../contract/values.ts'
import { isOverdue } from '../../domain/due.ts'
import { registerView, requestEntryView } from '../../views/register.ts'

const Options = z.strictObject({
  operands: z.tuple([text(1, 100)]),
  history: z.literal(true).optional(),
})

export function show(command: Command, ctx: Context): void {
  command
    .argument('<ticket>', 'the ticket of the request')
    .option('--history', 'show the audit entries instead: who changed what, when')
    .description(`
In audit entries the person's identifiers appear as HMAC only.

Examples:
  $ consentctl requests show DSR-7
  $ consentctl requests show DSR-7 --history -o json`)
    .action(
      action(
        ctx,
        Options,
        ({ history }) => (history ? requestEntryView : registerView),
        async (_, { operands: [ticket], history }) => {
          const found = await findRequest(ctx.api, ticket)
          if (!history) return one(registerView, { ...found, overdue: isOverdue(found) })
          const { id } = found
          const whole = await callRegister(ctx.api, () => ctx.api.call(requests.get, { params: { id } }))
          return many(requestEntryView, pagesOf(whole.history))
        },
      ),
    )
}
