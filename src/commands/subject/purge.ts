import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addConfirmFlags } from '../../cli/confirm.ts'
import type { Context } from '../../context.ts'
import { purgeView } from '../../views/subject.ts'
import { purgeByReceipt, purgeOptions } from './purging.ts'

const Options = z.strictObject({ ...purgeOptions, operands: z.tuple([nonEmpty]) })

export function purge(command: Command, ctx: Context): void {
  addConfirmFlags(
    command
      .argument('<receipt>', 'a file, or the number, job or ticket of a receipt, or last')
      .option('--dry-run', 'show what would be purged without purging it'),
    'record',
  )
    .description(`
Purges the personal data of exactly the records that the receipt lists as deleted, without waiting for the schedule
of the service. A purge cannot be undone. A new receipt in the chain of the profile contains the certificate of the
service. If a record is live again, nothing is purged (exit code 10). Repeating the command finishes an interrupted
purge, and changes nothing after a complete one.

Examples:
  $ consentctl subject purge last --dry-run
  $ consentctl subject purge last --confirm 3`)
    .action(
      action(
        ctx,
        Options,
        purgeView,
        async (_, { operands: [wanted], ...options }) => await purgeByReceipt(ctx, wanted, options),
      ),
    )
}
