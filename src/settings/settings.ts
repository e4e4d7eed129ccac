import { type CliError, settingsError, usageError } from '../errors/errors.ts'
import { configFolder, type Folder, stateFolder } from './folders.ts'
import { commandKey, environmentKey, type KeySource, noKeyError, storedKey } from './key.ts'
import {
  type Config,
  configFile,
  own,
  type Profile,
  readConfig,
  readCredentials,
  type Warn,
} from './store.ts'

/** The scheme, host and port of an address, by which keys are kept apart; null where it is none. */
export function originOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).origin : null
}

/** Checks an address and takes the slash from its end. Throws a usage error. */
export function parseBaseUrl(value: string, source: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  if (!url || !/^https?:$/.test(url.protocol)) {
    const shown = value.includes('@') ? 'that' : `"${value}"` // there may be a password in it
    throw usageError(`${source}: ${shown} is no address`, 'write it like https://consent.example.com')
  }
  if (url.username || url.password) throw usageError(`${source}: an address must not hold credentials`)
  if (url.search || url.hash) throw usageError(`${source}: an address has no query and no fragment`)
  return url.origin + url.pathname.replace(/\/+$/, '')
}

/** A setting and where it came from: a flag, a variable, a profile or the default. */
export interface Sourced {
  readonly value: string
  readonly source: string
}

export interface GlobalFlags {
  readonly profile?: string | undefined
  readonly baseUrl?: string | undefined
  readonly caFile?: string | undefined
}

export interface SettingsHost {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: string
  readonly warn: Warn
}

/** The files of the configuration, and which profile of theirs is meant. */
export interface Configuration {
  /** Null where there is no home folder to have it in. */
  readonly folder: Folder | null
  readonly config: Config
  readonly profile: Sourced
}

/** Finds the configuration; unlike resolveSettings also where the profile is unknown, or what it holds makes no sense. */
export function readConfiguration(
  flags: GlobalFlags,
  { env, platform }: Omit<SettingsHost, 'warn'>,
): Configuration {
  const folder = configFolder(env, platform)
  const config = folder ? readConfig(folder.value) : { profiles: {} }
  const profile = sourced(flags.profile, '--profile') ??
    sourced(env['CONSENTCTL_PROFILE'], 'CONSENTCTL_PROFILE') ??
    sourced(config.profile, 'config.json') ?? { value: 'default', source: 'default' }
  return { folder, config, profile }
}

/** Throws a CliError where there is nowhere to have a configuration. */
export function requireConfigFolder({ folder }: Pick<Configuration, 'folder'>): string {
  if (folder) return folder.value
  throw settingsError('there is no home folder to keep the configuration in', 'set CONSENTCTL_CONFIG_DIR')
}

/** Whether somebody has asked for this profile, rather than the configuration. */
export function isExplicit({ source }: Sourced): boolean {
  return source === '--profile' || source === 'CONSENTCTL_PROFILE'
}

/** Refuses a name that a new profile could not be told by. Throws a usage error. */
export function checkProfileName(name: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{M}\p{N}._@-]{0,99}$/u.test(name)) return
  throw usageError(`a profile cannot be named "${name}"`, 'use letters, digits and hyphens')
}

/** A set value with its source; an empty variable counts as unset, an empty flag as an error of its own. */
export function sourced(value: string | undefined, source: string): Sourced | null {
  if (value === '' && source.startsWith('--')) throw usageError(`${source} must not be empty`)
  return value ? { value, source } : null
}

export function unknownProfile({ value, source }: Sourced, { profiles }: Config): CliError {
  const known = Object.keys(profiles)
  const others = known.length ? `there are: ${known.join(', ')}. ` : ''
  const hint = `${others}To make it: consentctl auth login -p ${value} --base-url https://…`
  return settingsError(`there is no profile "${value}" (from ${source})`, hint)
}

/** What a command knows of its surroundings, each part by its precedence: flag, environment, profile, default. */
export interface Settings {
  /** Of the configuration. Reading it throws a CliError where there is no home folder to have it in. */
  readonly folder: string
  /** Of the journals. Reading it throws a CliError likewise. */
  readonly stateFolder: string
  readonly profile: Sourced
  readonly baseUrl: Sourced | null
  readonly site: Sourced | null
  /** Who signs in, where that is needed. */
  readonly email: Sourced | null
  /** Whether destructive commands ask for more than --yes here. */
  readonly isProtected: boolean
  /** Certificates of authorities to trust beside the usual ones. */
  readonly caFile: Sourced | null
  readonly apiKey: KeySource | null
  /** The address that the profile's key is for, where that is another one than the key would now be sent to. */
  readonly keyIsFor: string | null
  /** Hosts that plain http is allowed to, by name. */
  readonly allowHttp: readonly string[]
}

/** Resolves the settings. Throws a CliError for a file that cannot be read, or an address that is none. */
export function resolveSettings(flags: GlobalFlags, surroundings: SettingsHost): Settings {
  const { env, platform } = surroundings
  const place = readConfiguration(flags, surroundings)
  const { config, profile } = place
  const stored = own(config.profiles, profile.value)
  const from = `profile ${profile.value}`
  const pick = (variable: string, key: 'base_url' | 'site' | 'email' | 'ca_file') =>
    sourced(env[variable], variable) ?? sourced(stored?.[key], from)
  const baseUrl = normalized(sourced(flags.baseUrl, '--base-url') ?? pick('CONSENTCTL_BASE_URL', 'base_url'))
  if (isExplicit(profile) && !stored && !baseUrl) throw unknownProfile(profile, config)
  return {
    get folder() {
      return requireConfigFolder(place)
    },
    get stateFolder() {
      return stateFolder(env, platform).value
    },
    profile,
    baseUrl,
    site: pick('CONSENTCTL_SITE', 'site'),
    email: pick('CONSENTCTL_EMAIL', 'email'),
    isProtected: isProtected(place, baseUrl),
    caFile: sourced(flags.caFile, '--ca-file') ?? pick('CONSENTCTL_CA_FILE', 'ca_file'),
    ...findKey(place, stored, baseUrl, surroundings),
    allowHttp: (env['CONSENTCTL_ALLOW_HTTP'] ?? '').split(',').map(host => host.trim()),
  }
}

/** The instance's address. Throws a CliError where none is set, or where a key would travel unencrypted. */
export function requireBaseUrl({ baseUrl, allowHttp }: Settings): string {
  if (!baseUrl) {
    throw settingsError(
      'no instance is set',
      'consentctl auth login --base-url https://… , or set CONSENTCTL_BASE_URL',
    )
  }
  const { protocol, hostname } = new URL(baseUrl.value)
  if (protocol === 'http:' && !isLoopback(hostname) && !allowHttp.includes(hostname)) {
    throw settingsError(
      `${baseUrl.value} (from ${baseUrl.source}) is not encrypted, and no key or password may travel so`,
      `use https, or allow it by name: CONSENTCTL_ALLOW_HTTP=${hostname}`,
    )
  }
  return baseUrl.value
}

/** Where the key comes from. Throws a CliError where none is set for the instance. */
export function requireApiKey({ apiKey, keyIsFor, baseUrl }: Settings): KeySource {
  if (apiKey) return apiKey
  throw noKeyError(
    keyIsFor
      ? `the profile’s key is for ${keyIsFor}, and is not sent to ${baseUrl?.value}`
      : 'no API key is set',
    'consentctl auth login, or set CONSENTCTL_API_KEY',
  )
}

/** The environment's key goes wherever the address says; a profile's, only to the scheme, host and port it is for. */
function findKey(
  { folder, profile }: Configuration,
  stored: Profile | undefined,
  baseUrl: Sourced | null,
  { env, warn }: SettingsHost,
): Pick<Settings, 'apiKey' | 'keyIsFor'> {
  const credential = folder && own(readCredentials(folder.value, warn), profile.value)
  const given = environmentKey(env, warn)
  const command = folder && stored?.key_command
  const keyIsFor = (command ? stored.base_url : credential?.base_url) ?? null
  const isKeyHere = keyIsFor && baseUrl && originOf(keyIsFor) === originOf(baseUrl.value)
  if (given || !isKeyHere) return { apiKey: given, keyIsFor: isKeyHere ? null : keyIsFor }
  if (command) {
    const file = configFile(folder.value)
    return { apiKey: commandKey(command, profile.value, file, env), keyIsFor: null }
  }
  return { apiKey: credential ? storedKey(profile.value, credential.api_key) : null, keyIsFor: null }
}

/** A profile that is protected protects its instance, under whatever name that is reached. */
function isProtected({ config, profile }: Configuration, baseUrl: Sourced | null): boolean {
  return Object.entries(config.profiles).some(([name, { protected: isSet, base_url }]) => {
    const isHere = base_url && baseUrl && originOf(base_url) === originOf(baseUrl.value)
    return isSet && (name === profile.value || isHere)
  })
}

function normalized(setting: Sourced | null): Sourced | null {
  return setting && { ...setting, value: parseBaseUrl(setting.value, setting.source) }
}

/** Whether a URL's host is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/** A flag's or a variable's text as seconds, up to a day. Throws a usage error. */
export function parseSeconds(text: string, source: string, least: number): number {
  const seconds = /^\d{1,5}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  if (seconds >= least && seconds <= 86_400) return seconds
  throw usageError(`${source} must be a number of seconds from ${least} to 86400`)
}
