import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { callHolds } from '../../cli/holds.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { Subject } from '../../cli/subjects.ts'
import { futureInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { HoldDraft, holds } from '../../contract/holds.ts'
import { holdView } from '../../views/hold.ts'

const Options = z.strictObject({
  operands: z.tuple([Subject]),
  reason: HoldDraft.shape.reason,
  until: z.string(),
  ticket: HoldDraft.shape.ticket,
})

export function add(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'identifier of the data subject, exactly as stored')
    .requiredOption('--reason <text>', 'why the records are needed; it stays in the log and should name nobody')
    .requiredOption('--until <time>', 'when the hold ends: 2028-12-31 (end of day, UTC), or 90d from now')
    .option('--ticket <ticket>', 'where the claim is handled')
    .description(`
While a hold stands, no retention deletes a record of the person, nothing of it is purged, and an erasure of the
person is rejected with the reason (GDPR Art. 17(3)(e), legal claims). The service keeps an HMAC of the
identifier, never the identifier. The hold ends by itself. It does not stop rm of one record by its id: the record
is deleted, and stays until the hold ends. Requires a key with the scope erase.

Examples:
  $ consentctl hold add maria@example.com --reason 'claim before the court' --until 2028-12-31 --ticket LEGAL-7
  $ consentctl hold add customer-4711 --reason 'request of an authority' --until 90d`)
    .action(
      action(ctx, Options, holdView, async (_, { operands: [subject_id], reason, until, ticket }) => {
        const body = { subject_id, reason, held_until: futureInstant(until, new Date()), ticket }
        const hold = await callHolds(ctx, () => ctx.api.call(holds.add, { body }))
        await ctx.say(`the records of this person are held until ${hold.held_until} on ${instanceLabel(ctx)}`)
        return one(holdView, hold, { mutates: true })
      }),
    )
}
