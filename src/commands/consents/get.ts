import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import { consentView } from '../../views/consent.ts'
import { action, Ids } from '../action.ts'
import { expandIds, forEach } from '../each.ts'
import { many } from '../output.ts'

const Options = z.strictObject({ operands: Ids, includeDeleted: z.literal(true).optional() })

/** `get`: records by their ids. */
export function get(command: Command, ctx: Context): void {
  command
    .argument('<id...>', 'ids of records; - reads them from standard input')
    .option('--include-deleted', 'show a deleted record too')
    .addHelpText(
      'after',
      `
Examples:
  $ consentctl get 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl list --subject maria@example.com -q | consentctl get -`,
    )
    .action(
      action(ctx, Options, consentView, async (_, { operands, includeDeleted }) => {
        const ids = await expandIds(ctx, operands)
        const query = includeDeleted ? { include_deleted: true } : {}
        const { pages, exit } = forEach(ctx, ids, async id => [
          await ctx.api.consents.get({ params: { id }, query }),
        ])
        return many(consentView, pages, { exit, single: operands.length === 1 && operands[0] !== '-' })
      }),
    )
}
