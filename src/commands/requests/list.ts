import type { Command } from 'commander'
import { Option } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { formatCount } from '../../cli/messages.ts'
import { many, pagesOf } from '../../cli/output.ts'
import { isOverdue, listRequests } from '../../cli/register.ts'
import type { Context } from '../../context.ts'
import { type RequestQuery, requestKinds } from '../../contract/requests.ts'
import { text } from '../../contract/values.ts'
import { exit, usageError } from '../../errors/errors.ts'
import { type RegisterRow, registerView } from '../../views/register.ts'
import { Subject } from '../subject/subjects.ts'

const Options = z.strictObject({
  closed: z.literal(true).optional(),
  all: z.literal(true).optional(),
  kind: z.enum(requestKinds).optional(),
  assignee: text(1, 100).optional(),
  subject: Subject.optional(),
  check: z.literal(true).optional(),
})
type Options = z.output<typeof Options>

export function list(command: Command, ctx: Context): void {
  command
    .option('--check', 'list only overdue requests, and exit with 8 if there is one')
    .option('--closed', 'closed requests instead of open ones')
    .option('--all', 'open and closed requests')
    .option('--assignee <name>', 'only those that somebody has')
    .addOption(new Option('--kind <kind>', 'only those of a kind').choices(requestKinds))
    .option('--subject <id>', 'only those of this data subject; closed ones are found by their HMAC')
    .addHelpText(
      'after',
      `
Lists open requests by the day they are due (UTC), so overdue ones come first; their state reads overdue.

Examples:
  $ consentctl requests list
  $ consentctl requests list --check -q
  $ consentctl requests list --all --subject maria@example.com`,
    )
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

/** Returns rows sorted by due day. */
export async function findRows(ctx: Context, options: Options): Promise<RegisterRow[]> {
  const { kind, assignee, check } = options
  const rows: RegisterRow[] = []
  for await (const page of listRequests(ctx.api, toQuery(options)))
    for (const request of page) rows.push({ ...request, overdue: isOverdue(request) })
  return rows
    .filter(row => kind === undefined || row.kind === kind)
    .filter(row => assignee === undefined || row.assignee === assignee)
    .filter(row => !check || row.overdue)
    .sort(byDueDay)
}

function toQuery({ closed, all, subject, check }: Options): Omit<RequestQuery, 'cursor' | 'limit'> {
  if ([closed, all, check].filter(Boolean).length > 1)
    throw usageError('--closed, --all and --check cannot be combined')
  return {
    ...(!all && { state: closed ? ('closed' as const) : ('open' as const) }),
    ...(subject !== undefined && { subject_id: subject }),
  }
}

function byDueDay(a: RegisterRow, b: RegisterRow): number {
  const key = ({ due_on, received_on, id }: RegisterRow) => `${due_on} ${received_on} ${id}`
  return key(a) < key(b) ? -1 : 1
}
