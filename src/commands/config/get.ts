import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { one } from '../../cli/output.ts'
import { unknownKey } from '../../cli/profile-keys.ts'
import type { Context } from '../../context.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { valueView } from '../../views/program.ts'
import { settingRows } from './rows.ts'

const Options = z.strictObject({ operands: z.tuple([nonEmpty]) })

export function get(command: Command, ctx: Context): void {
  command
    .argument('<key>', 'name of a setting, as listed by config list')
    .description(`
Prints the value in use, whatever its source. Exit code 3 if it is not set.

Examples:
  $ consentctl config get base_url
  $ consentctl config get site -p staging --json`)
    .action(action(ctx, Options, valueView, run))
}

async function run(ctx: Context, { operands: [key] }: z.output<typeof Options>) {
  const rows = settingRows(ctx)
  const found = rows.find(({ setting }) => setting === key)
  if (!found)
    throw unknownKey(
      key,
      rows.map(({ setting }) => setting),
    )
  if (found.value === null && found.source === 'not set')
    throw new CliError('not_set', exit.notFound, `${key} is not set`)
  return one(valueView, found)
}
