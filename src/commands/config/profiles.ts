import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { countedList } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { readConfiguration, requireConfigFolder } from '../../settings/settings.ts'
import { type Credentials, own, type Profile, readCredentials } from '../../settings/store.ts'
import { profileView } from '../../views/program.ts'

export function profiles(command: Command, ctx: Context): void {
  command
    .description(`
Examples:
  $ consentctl config profiles
  $ consentctl config profiles -o id`)
    .action(
      action(ctx, z.strictObject({}), profileView, async () => {
        const configuration = readConfiguration(ctx.globals, ctx.host)
        const credentials = readCredentials(
          requireConfigFolder(configuration),
          message => void ctx.warn(`warning: ${message}`),
        )
        const rows = Object.entries(configuration.config.profiles).map(([name, profile]) => ({
          name,
          is_default: name === (configuration.config.profile ?? 'default'),
          base_url: profile.base_url ?? null,
          site: profile.site ?? null,
          email: profile.email ?? null,
          protected: profile.protected ?? false,
          key: keyOf(profile, own(credentials, name)),
        }))
        return countedList(ctx, profileView, rows, 'profile')
      }),
    )
}

function keyOf({ key_command }: Profile, credential: Credentials[string] | undefined): string | null {
  if (key_command) return 'key_command'
  return credential ? 'stored' : null
}
