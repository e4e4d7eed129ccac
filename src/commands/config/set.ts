import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { keyNamed, type ProfileKey, profileKeys } from '../../cli/profile-keys.ts'
import { knownSiteId } from '../../cli/sites.ts'
import type { Context } from '../../context.ts'
import { isUuid } from '../../contract/uuid.ts'
import { usageError } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import type { Sourced } from '../../settings/folders.ts'
import {
  type Configuration,
  checkProfileName,
  isExplicit,
  originOf,
  readConfiguration,
  requireConfigFolder,
  unknownProfile,
} from '../../settings/settings.ts'
import { type Config, changeConfig, own, type Profile, readCredentials } from '../../settings/store.ts'

const Options = z.strictObject({ operands: z.tuple([nonEmpty, nonEmpty]) })

export function set(command: Command, ctx: Context): void {
  command
    .argument('<key>', 'base_url, site, email, protected, key_command, ca_file, or profile (the default one)')
    .argument('<value>', 'the new value')
    .description(`
Changes the profile of -p or CONSENTCTL_PROFILE, else the default one. Setting base_url creates a profile.
To store an API key use auth login, or set key_command to a shell command that prints it. The command runs
when a request needs the key, and its key is sent only to the address of its profile. A site is stored by its id,
looked up on the instance; if that fails, a UUID is stored unchecked.

Examples:
  $ consentctl config set base_url https://staging.example.com -p staging
  $ consentctl config set key_command 'pass show consentctl/staging' -p staging
  $ consentctl config set site Shop -p staging
  $ consentctl config set protected true -p production
  $ consentctl config set profile staging`)
    .action(action(ctx, Options, run))
}

async function run(ctx: Context, { operands: [name, text] }: z.output<typeof Options>) {
  const key = keyNamed(name)
  const configuration = readConfiguration(ctx.globals, ctx.host)
  const folder = requireConfigFolder(configuration)
  if (key === 'profile') {
    await changeConfig(folder, config => withDefault(config, text))
    return await ctx.say(`the default profile is ${text}`)
  }
  const value = key === 'site' ? await findSiteId(ctx, configuration, text) : profileKeys[key](text)
  await changeConfig(folder, config => withSetting(config, configuration.profile, key, value))
  await ctx.say(`set ${key} of profile ${configuration.profile.value} to ${value}`)
  if (key === 'base_url') await warnOfForeignKey(ctx, folder, configuration.profile.value, String(value))
}

const longestProbeMs = 5000

/** Uses the profile's instance, whatever the environment sets. */
async function findSiteId(ctx: Context, { profile, config }: Configuration, text: string): Promise<string> {
  const hasInstance = own(config.profiles, profile.value)?.base_url !== undefined
  const other = hasInstance ? ctx.withProfile(profile.value) : ctx
  try {
    await other.api.probe('/api/v1/sites', longestProbeMs) // without retries: a UUID needs no answer
    return await knownSiteId(ctx, other.api, text)
  } catch (error) {
    const { code, message } = explain(error)
    if (!['no_key', 'settings', 'network'].includes(code)) throw error
    if (!isUuid(text)) throw usageError(`site: "${text}" is not a UUID, and its name cannot be looked up: ${message}`)
    await ctx.say(`note: the site is not checked: ${message}`)
    return text
  }
}

function withDefault(config: Config, name: string): Config {
  if (!own(config.profiles, name)) throw unknownProfile({ value: name, source: 'the argument' }, config)
  return { ...config, profile: name }
}

function withSetting(config: Config, profile: Sourced, key: ProfileKey, value: string | boolean): Config {
  const name = profile.value
  const stored: Profile | undefined = own(config.profiles, name)
  if (!stored && key !== 'base_url' && isExplicit(profile)) throw unknownProfile(profile, config)
  if (!stored) checkProfileName(name)
  if (key === 'key_command' && !stored?.base_url) {
    throw usageError(
      `profile ${name} has no base_url, so the key cannot be bound to an address`,
      `consentctl config set base_url https://… -p ${name}`,
    )
  }
  const profiles = { ...config.profiles, [name]: { ...stored, [key]: value } }
  return { ...config, profile: config.profile ?? name, profiles }
}

async function warnOfForeignKey(ctx: Context, folder: string, name: string, baseUrl: string): Promise<void> {
  const credential = own(readCredentials(folder, ctx.warn), name)
  if (!credential || originOf(credential.base_url) === originOf(baseUrl)) return
  await ctx.say(
    `note: the key of this profile belongs to ${credential.base_url} and is not sent to the new address: consentctl auth login -p ${name}`,
  )
}
