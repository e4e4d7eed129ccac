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

export function doctor(command: Command, ctx: Context): void {
  command
    .addHelpText(
      'after',
      `
Checks the files, the address, the connection to the instance, its clock, the key and the quota. Only the
instance in use gets requests; checking the key takes one request of the quota. Permissions that let others
read the keys are corrected. Exit code 0 if nothing failed, else that of the first failure: 2 settings,
4 key, 6 quota, 7 connection. -q prints the names of failed checks.

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

/** Exits with the code of the first failure. */
export function toOutput(ctx: Context, checks: readonly Checked[]): Output<CheckRow> {
  const first = checks.find(({ row }) => row.result === 'fail')
  async function* pages() {
    yield checks.map(({ row }) => row)
    if (!ctx.io.out.isTerminal) return
    for (const { row } of checks) if (row.remedy) await ctx.say(`${row.check}: try ${row.remedy}`)
  }
  return many(checkView, pages(), { exit: () => first?.exit ?? exit.done })
}
