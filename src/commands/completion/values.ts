import { Argument, type Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { many, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import type { View } from '../../output/index.ts'
import { readConfig } from '../../settings/store.ts'

const kinds = ['profiles', 'sites'] as const

const Options = z.strictObject({ operands: z.tuple([z.enum(kinds)]) })

const valueView: View<string> = {
  id: value => value,
  columns: [{ name: 'value', value: value => value, whole: true, rank: 1 }],
}

export function values(command: Command, ctx: Context): void {
  command
    .addArgument(new Argument('<kind>', 'kind of value').choices([...kinds]))
    .addHelpText(
      'after',
      `
The completion scripts call this for the names of profiles and for their default sites.

Examples:
  $ consentctl completion values profiles
  $ consentctl completion values sites`,
    )
    .action(action(ctx, Options, valueView, run))
}

async function run(ctx: Context, { operands: [kind] }: z.output<typeof Options>) {
  const { profiles } = readConfig(ctx.settings.folder)
  const found = kind === 'profiles' ? Object.keys(profiles) : Object.values(profiles).map(profile => profile.site)
  const values = [...new Set(found.filter(value => value !== undefined))].sort()
  return many(valueView, pagesOf(values))
}
