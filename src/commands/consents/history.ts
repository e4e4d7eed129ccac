import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import { auditView } from '../../views/consent.ts'
import { action, Ids } from '../action.ts'
import { expandIds, forEach } from '../each.ts'
import { many } from '../output.ts'

const Options = z.strictObject({ operands: Ids })

/** `history`: the audit trail of records, deleted ones too. */
export function history(command: Command, ctx: Context): void {
  command
    .argument('<id...>', 'ids of records; - reads them from standard input')
    .addHelpText(
      'after',
      `
The entries of a record come oldest first; each is its state after the event.

Examples:
  $ consentctl history 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl history 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 -o ndjson`,
    )
    .action(
      action(ctx, Options, auditView, async (_, { operands }) => {
        const ids = await expandIds(ctx, operands)
        const { pages, exit } = forEach(
          ctx,
          ids,
          async id => (await ctx.api.consents.history({ params: { id } })).data,
        )
        return many(auditView, pages, { exit })
      }),
    )
}
