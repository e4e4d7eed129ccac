import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors/errors.ts'
import { readConfiguration, requireConfigFolder, unknownProfile } from '../../settings/settings.ts'
import { own, removeProfile } from '../../settings/store.ts'

const Options = z.strictObject({ operands: z.tuple([nonEmpty]) })

export function remove(command: Command, ctx: Context): void {
  command
    .argument('<profile>', 'name of the profile')
    .description(`
The stored key is removed too, but stays valid: to revoke it, first run consentctl keys revoke.
A protected profile must be unprotected first: consentctl config unset protected -p NAME.

Examples:
  $ consentctl config remove staging
  $ consentctl config remove local`)
    .action(action(ctx, Options, run))
}

async function run(ctx: Context, { operands: [name] }: z.output<typeof Options>) {
  const configuration = readConfiguration(ctx.globals, ctx.host)
  const folder = requireConfigFolder(configuration)
  const profile = own(configuration.config.profiles, name)
  if (!profile) throw unknownProfile({ value: name, source: 'the argument' }, configuration.config)
  if (profile.protected)
    throw usageError(`profile ${name} is protected`, `consentctl config unset protected -p ${name}`)
  await removeProfile(folder, name)
  await ctx.say(`removed profile ${name} and its key, if it had one`)
}
