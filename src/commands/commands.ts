import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../cli/action.ts'
import { many, pagesOf } from '../cli/output.ts'
import type { Context } from '../context.ts'
import { type CommandInfo, flatten, usageOf } from '../docs/describe.ts'
import { type CommandRow, commandView } from '../views/program.ts'

export function commands(command: Command, ctx: Context): void {
  command
    .description(`
The first entry, without a name, is the program with the global flags.

Examples:
  $ consentctl commands
  $ consentctl commands --json`)
    .action(
      action(ctx, z.strictObject({}), commandView, async () => {
        const rows = flatten(await ctx.describeCommands())
          .filter(isCallable)
          .map(rowOf)
        return many(commandView, pagesOf(rows))
      }),
    )
}

function isCallable({ path, commands }: CommandInfo): boolean {
  return path === '' || commands.length === 0
}

function rowOf(info: CommandInfo): CommandRow {
  const { path, summary, aliases, arguments: operands, flags, examples } = info
  return { command: path, summary, usage: usageOf(info), aliases, arguments: operands, flags, examples }
}
