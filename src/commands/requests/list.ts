import type { Command } from 'commander'
import { Option } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { formatCount } from '../../cli/messages.ts'
import { many, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { requestKinds } from '../../contract/requests.ts'
import { exit } from '../../errors/errors.ts'
import { registerView } from '../../views/register.ts'
import { findRows, requestFilters } from './rows.ts'

const Options = z.strictObject({ ...requestFilters, check: z.literal(true).optional() })

export function list(command: Command, ctx: Context): void {
  command
    .option('--check', 'list only overdue requests, and exit with 8 if there is one')
    .option('--closed', 'list closed requests instead of open ones')
    .option('--all', 'list open and closed requests')
    .option('--assignee <name>', 'list only requests assigned to NAME')
    .addOption(new Option('--kind <kind>', 'only those of a kind').choices(requestKinds))
    .option('--subject <id>', 'list only requests of this data subject; closed ones match by HMAC')
    .description(`
Lists open requests by the day they are due (UTC), so overdue ones come first; their state reads overdue.

Examples:
  $ consentctl requests list
  $ consentctl requests list --check -q
  $ consentctl requests list --all --subject maria@example.com`)
    .action(
      action(ctx, Options, registerView, async (_, options) => {
        const rows = await findRows(ctx, options)
        const overdue = rows.filter(row => row.overdue).length
        const footer = async () => {
          const late = overdue > 0 ? `, ${overdue} overdue` : ''
          if (ctx.io.out.isTerminal) await ctx.say(`${formatCount(rows.length, 'request')}${late}`)
        }
        const code = options.check && overdue > 0 ? exit.partial : exit.done
        return many(registerView, pagesOf(rows), { footer, exit: () => code })
      }),
    )
}
