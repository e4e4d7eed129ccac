import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { many, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { settingView } from '../../views/program.ts'
import { settingRows } from './rows.ts'

/** `config list`: every setting with its source; a key by its last characters. */
export function list(command: Command, ctx: Context): void {
  command
    .addHelpText(
      'after',
      `
A flag goes before a variable of the environment, that before the profile, that before the default.

Examples:
  $ consentctl config list
  $ consentctl config list -p staging -o json`,
    )
    .action(
      action(ctx, z.strictObject({}), settingView, async () => many(settingView, pagesOf(settingRows(ctx)))),
    )
}
