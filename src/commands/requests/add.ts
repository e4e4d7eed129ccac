import type { Command } from 'commander'
import { Option } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { callRegister } from '../../cli/register.ts'
import { addAlsoFlag, alsoOption, readSubjects, Subject } from '../../cli/subjects.ts'
import { receivedDay } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { requestKinds, requests } from '../../contract/requests.ts'
import { text } from '../../contract/values.ts'
import { describeDue, isOverdue, today } from '../../domain/due.ts'
import { registerView } from '../../views/register.ts'

const Options = z.strictObject({
  ...alsoOption,
  operands: z.tuple([text(1, 100), Subject]),
  kind: z.enum(requestKinds),
  received: nonEmpty.optional(),
  assignee: text(1, 100).optional(),
})

export function add(command: Command, ctx: Context): void {
  addAlsoFlag(
    command
      .argument('<ticket>', 'name of the request, unique in the account')
      .argument('<id>', 'identifier of the data subject, exactly as stored')
      .addOption(new Option('--kind <kind>', 'what is requested').choices(requestKinds).makeOptionMandatory())
      .option('--received <date>', 'when it was received, such as 2026-01-31 (today)'),
  )
    .option('--assignee <name>', 'person who handles the request')
    .description(`
The service computes the last day to answer: one month after it was received (GDPR Art. 12(3)), on the next
working day if that is a weekend or one of its holidays (Regulation 1182/71). Days are in UTC. Repeating the
command changes nothing. Use - as the identifier to read all identifiers from stdin, one per line.

Examples:
  $ consentctl requests add DSR-7 maria@example.com --kind erasure --received 2026-01-31
  $ consentctl requests add DSR-8 - --kind access < identifiers.txt`)
    .action(
      action(ctx, Options, registerView, async (_, { operands, also, kind, received, assignee }) => {
        const [ticket, id] = operands
        const received_on = received === undefined ? today() : receivedDay(received)
        const subject_ids = await readSubjects(ctx, [id], also)
        const body = { ticket, kind, subject_ids, received_on, ...(assignee !== undefined && { assignee }) }
        const made = await callRegister(ctx.api, () => ctx.api.call(requests.create, { body, isIdempotent: true }))
        const isLate = isOverdue(made)
        await ctx.say(`${made.ticket} is due on ${made.due_on}, in the register of ${instanceLabel(ctx)}`)
        if (isLate) await ctx.warn(`${made.ticket} is overdue: it was due on ${describeDue(made)}`)
        return one(registerView, { ...made, overdue: isLate }, { mutates: true })
      }),
    )
}
