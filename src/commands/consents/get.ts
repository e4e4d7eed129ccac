import type { Command } from 'commander'
import * as z from 'zod'
import { action, Ids, nonEmpty } from '../../cli/action.ts'
import { expandIds, runForEach } from '../../cli/ids.ts'
import { many } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { consentView } from '../../views/consent.ts'

const Options = z.strictObject({
  operands: Ids,
  includeDeleted: z.literal(true).optional(),
  at: nonEmpty.optional(),
})

export function get(command: Command, ctx: Context): void {
  command
    .argument('<id...>', 'ids of records; - reads them from standard input')
    .option('--include-deleted', 'also show deleted records')
    .option('--at <time>', 'the state at this time: RFC 3339, 2026-01-31 (end of day, UTC), 7d or 24h ago')
    .description(`
With --at, the state of a record before its import is as reported by the importer: a warning says so, and in JSON the
field word is importer instead of service.

Examples:
  $ consentctl get 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl list --subject maria@example.com -q | consentctl get -
  $ consentctl get 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --at 2026-03-03T10:00:00Z`)
    .action(action(ctx, Options, consentView, run))
}

async function run(ctx: Context, { operands, includeDeleted, at }: z.output<typeof Options>) {
  const moment = at === undefined ? null : await momentReader(ctx, at, includeDeleted)
  const ids = await expandIds(ctx, operands)
  const query = includeDeleted ? { include_deleted: true } : {}
  const read = moment ?? ((id: string) => ctx.api.consents.get({ params: { id }, query }))
  const { pages, exit } = runForEach(ctx, ids, async id => [await read(id)])
  return many(consentView, pages, { exit, single: operands.length === 1 && operands[0] !== '-' })
}

async function momentReader(ctx: Context, flag: string, includeDeleted: boolean | undefined) {
  const { getAt, readAt } = await import('./at.ts')
  const at = await readAt(ctx, flag, includeDeleted)
  return (id: string) => getAt(ctx, id, at)
}
