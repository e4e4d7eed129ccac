import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { callHolds } from '../../cli/holds.ts'
import { countedList } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { holds } from '../../contract/holds.ts'
import { holdView } from '../../views/hold.ts'

export function list(command: Command, ctx: Context): void {
  command
    .description(`
Holds that have ended are not listed; consentctl audit list --action hold_added shows all that were added. Requires a
key with the scope erase.

Examples:
  $ consentctl hold list
  $ consentctl hold list -o csv`)
    .action(
      action(ctx, z.strictObject({}), holdView, async () => {
        const { data } = await callHolds(ctx, () => ctx.api.call(holds.list, {}))
        return countedList(ctx, holdView, data, 'hold')
      }),
    )
}
