import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { many, type Output } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { exit } from '../../errors/errors.ts'
import { type CheckRow, checkView } from '../../views/program.ts'
import type { Checked } from './check.ts'
import { checkInstance } from './instance.ts'
import { checkHere } from './local.ts'

/** `doctor`: whether everything is as the commands need it, and what to do where it is not. */
export function doctor(command: Command, ctx: Context): void {
  command
    .addHelpText(
      'after',
      `
Looks at the files, the address, the way to the instance, its clock, the key and the quota. Nothing but the
instance of the settings is asked; trying the key takes one request of the quota. Permissions that let others
read the keys are mended. It ends with 0 where nothing failed, else with the exit code of the first failure:
2 the settings, 4 the key, 6 the quota, 7 the way to the instance. -q prints the names of what failed.

Examples:
  $ consentctl doctor
  $ consentctl doctor -p staging -o json`,
    )
    .action(
      action(ctx, z.strictObject({}), checkView, async () =>
        toOutput(ctx, [...(await checkHere(ctx)), ...(await checkInstance(ctx))]),
      ),
    )
}

/** What was looked at as rows; the exit code is that of the first failure. */
export function toOutput(ctx: Context, checks: readonly Checked[]): Output<CheckRow> {
  const first = checks.find(({ row }) => row.result === 'fail')
  async function* pages() {
    yield checks.map(({ row }) => row)
    if (!ctx.io.out.isTerminal) return
    for (const { row } of checks) if (row.remedy) await ctx.say(`${row.check}: try ${row.remedy}`)
  }
  return many(checkView, pages(), { exit: () => first?.exit ?? exit.done })
}
