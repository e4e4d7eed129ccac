import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import type { Consent } from '../../contract/index.ts'
import { usageError } from '../../errors.ts'
import { canAsk } from '../../io/prompt.ts'
import { type ConsentRow, consentView } from '../../views/consent.ts'
import { action, Ids } from '../action.ts'
import { confirm } from '../confirm.ts'
import { expandIds, forEach } from '../each.ts'
import { counted, instanceOf } from '../instance.ts'
import { many } from '../output.ts'

const Options = z.strictObject({ operands: Ids, yes: z.literal(true).optional() })

/** `rm`: deletes records logically, after a look at them. */
export function rm(command: Command, ctx: Context): void {
  command
    .argument('<id...>', 'ids of records; - reads them from standard input')
    .option('-y, --yes', 'do not ask; needed where nobody can be asked')
    .addHelpText(
      'after',
      `
A deleted record is gone from every list; its history stays. Without --yes the records are shown first,
and one is asked about with y/N, several by their number. To be asked about what a list finds, give
its ids as arguments: rm $(consentctl list --subject maria@example.com -q)

Examples:
  $ consentctl rm 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl list --subject maria@example.com -q | consentctl rm - --yes`,
    )
    .action(
      action(ctx, Options, consentView, async (_, { operands, yes }) => {
        if (!yes && (operands.includes('-') || !canAsk(ctx.io))) {
          throw usageError('nobody can be asked here whether to delete', 'add --yes if you are sure')
        }
        const ids = await expandIds(ctx, operands)
        if (!yes) await confirmed(ctx, ids)
        const { pages, exit } = forEach(
          ctx,
          ids,
          async id => [await remove(ctx, id)],
          done => ctx.say(`deleted ${counted(done)} on ${instanceOf(ctx)}`),
        )
        return many(consentView, pages, {
          mutates: true,
          exit,
          single: operands.length === 1 && operands[0] !== '-',
        })
      }),
    )
}

async function remove(ctx: Context, id: string): Promise<ConsentRow> {
  const record = await ctx.api.consents.remove({ params: { id } })
  return record ?? { id } // an instance may answer with 204, and nothing is made up
}

/** Shows what would go and asks; throws when it is declined. One that cannot be read stops it all. */
async function confirmed(ctx: Context, ids: readonly string[]): Promise<void> {
  const records: Consent[] = []
  for (const id of ids) records.push(await ctx.api.consents.get({ params: { id } }))
  const counts = new Map<string, number>()
  for (const { site_id } of records)
    counts.set(site_id ?? '(none)', (counts.get(site_id ?? '(none)') ?? 0) + 1)
  await confirm(ctx, consentView, records, {
    action: 'delete',
    noun: 'record',
    where: instanceOf(ctx),
    counts,
  })
}
