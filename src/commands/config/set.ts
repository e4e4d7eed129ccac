import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors/errors.ts'
import {
  checkProfileName,
  isExplicit,
  originOf,
  readConfiguration,
  requireConfigFolder,
  type Sourced,
  unknownProfile,
} from '../../settings/settings.ts'
import { type Config, changeConfig, own, type Profile, readCredentials } from '../../settings/store.ts'
import { keyNamed, type ProfileKey, profileKeys } from './keys.ts'

const Options = z.strictObject({ operands: z.tuple([nonEmpty, nonEmpty]) })

/** `config set`: one thing that a profile holds, or which profile is the default one. */
export function set(command: Command, ctx: Context): void {
  command
    .argument(
      '<key>',
      'base_url, site, email, protected, key_command, ca_file; or profile, for the default one',
    )
    .argument('<value>', 'what it is from now on')
    .addHelpText(
      'after',
      `
It is set in the profile of -p or CONSENTCTL_PROFILE, else in the default one; a base_url makes the profile.
A key is never set so: use auth login, or a key_command. That is a line for the shell which prints the key;
it is run when a request needs the key, and its key goes to the address of its profile alone.

Examples:
  $ consentctl config set base_url https://staging.example.com -p staging
  $ consentctl config set key_command 'pass show consentctl/staging' -p staging
  $ consentctl config set protected true -p production
  $ consentctl config set profile staging`,
    )
    .action(
      action(ctx, Options, async (_, { operands: [name, text] }) => {
        const key = keyNamed(name)
        const place = readConfiguration(ctx.globals, ctx.host)
        const folder = requireConfigFolder(place)
        if (key === 'profile') {
          await changeConfig(folder, config => withDefault(config, text))
          await ctx.say(`the default profile is ${text}`)
          return undefined
        }
        const value = profileKeys[key](text)
        await changeConfig(folder, config => withSetting(config, place.profile, key, value))
        await ctx.say(`set ${key} of profile ${place.profile.value} to ${value}`)
        if (key === 'base_url') await tellKeyLeft(ctx, folder, place.profile.value, String(value))
        return undefined
      }),
    )
}

function withDefault(config: Config, name: string): Config {
  if (!own(config.profiles, name)) throw unknownProfile({ value: name, source: 'what was given' }, config)
  return { ...config, profile: name }
}

function withSetting(config: Config, profile: Sourced, key: ProfileKey, value: string | boolean): Config {
  const name = profile.value
  const stored: Profile | undefined = own(config.profiles, name)
  if (!stored && key !== 'base_url' && isExplicit(profile)) throw unknownProfile(profile, config)
  if (!stored) checkProfileName(name)
  if (key === 'key_command' && !stored?.base_url) {
    throw usageError(
      `profile ${name} has no base_url, so that nobody knows where the key may go`,
      `consentctl config set base_url https://… -p ${name}`,
    )
  }
  const profiles = { ...config.profiles, [name]: { ...stored, [key]: value } }
  return { ...config, profile: config.profile ?? name, profiles }
}

/** A stored key stays with the address it was stored for. */
async function tellKeyLeft(ctx: Context, folder: string, name: string, baseUrl: string): Promise<void> {
  const credential = own(readCredentials(folder, ctx.warn), name)
  if (!credential || originOf(credential.base_url) === originOf(baseUrl)) return
  await ctx.say(
    `note: the key of this profile is for ${credential.base_url}, and is not sent there: consentctl auth login -p ${name}`,
  )
}
