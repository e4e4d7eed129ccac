import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { keyNamed, type ProfileKey } from '../../cli/profile-keys.ts'
import type { Context } from '../../context.ts'
import type { Sourced } from '../../settings/folders.ts'
import { isExplicit, readConfiguration, requireConfigFolder, unknownProfile } from '../../settings/settings.ts'
import { type Config, changeConfig, own, type Profile } from '../../settings/store.ts'

const Options = z.strictObject({ operands: z.tuple([nonEmpty]) })

export function unset(command: Command, ctx: Context): void {
  command
    .argument('<key>', 'base_url, site, email, protected, key_command, ca_file, or profile (the default one)')
    .description(`
To remove a profile's key use auth logout; to remove a profile, config remove.

Examples:
  $ consentctl config unset site
  $ consentctl config unset protected -p production`)
    .action(action(ctx, Options, run))
}

async function run(ctx: Context, { operands: [name] }: z.output<typeof Options>) {
  const key = keyNamed(name)
  const configuration = readConfiguration(ctx.globals, ctx.host)
  await changeConfig(requireConfigFolder(configuration), config => without(config, configuration.profile, key))
  await ctx.say(
    key === 'profile' ? 'no default profile is set' : `unset ${key} of profile ${configuration.profile.value}`,
  )
}

function without(config: Config, profile: Sourced, key: ProfileKey | 'profile'): Config {
  if (key === 'profile') {
    const { profile: _, ...rest } = config
    return rest
  }
  const stored: Profile | undefined = own(config.profiles, profile.value)
  if (!stored && isExplicit(profile)) throw unknownProfile(profile, config)
  if (!stored) return config
  const { [key]: _, ...rest } = stored
  return { ...config, profiles: { ...config.profiles, [profile.value]: rest } }
}
