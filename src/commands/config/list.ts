import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { many, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { settingView } from '../../views/program.ts'
import { settingRows } from './rows.ts'

export function list(command: Command, ctx: Context): void {
  command
    .description(`
Precedence: flag, environment variable, profile, default.

Examples:
  $ consentctl config list
  $ consentctl config list -p staging -o json`)
    .action(action(ctx, z.strictObject({}), settingView, async () => many(settingView, pagesOf(settingRows(ctx)))))
}
