import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { confirmOptions, mustPrompt, promptToConfirm } from '../../cli/confirm.ts'
import { callHolds } from '../../cli/holds.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { holds } from '../../contract/holds.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { holdView } from '../../views/hold.ts'

const Options = z.strictObject({ operands: z.tuple([nonEmpty]), yes: confirmOptions.yes })

export function remove(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'id of the hold (see hold list)')
    .option('-y, --yes', 'skip the confirmation prompt')
    .description(`
Retention and purges take the records of the person again. Requires a key with the scope erase.

Examples:
  $ consentctl hold remove 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11
  $ consentctl hold remove 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --yes`)
    .action(action(ctx, Options, holdView, run))
}

async function run(ctx: Context, { operands: [id], yes }: z.output<typeof Options>) {
  if (mustPrompt(ctx, { yes }, { action: 'remove', isUncounted: true })) {
    const { data } = await callHolds(ctx, () => ctx.api.call(holds.list, {}))
    const hold = data.find(each => each.id === id)
    if (!hold) throw new CliError('not_found', exit.notFound, `no hold with id ${id}`)
    await promptToConfirm(ctx, holdView, [hold], { action: 'remove', noun: 'hold', where: instanceLabel(ctx) })
  }
  const hold = await callHolds(ctx, () => ctx.api.call(holds.remove, { params: { id } }))
  await ctx.say(`removed hold ${hold.id} on ${instanceLabel(ctx)}`)
  return one(holdView, hold, { mutates: true })
}
