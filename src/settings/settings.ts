import { settingsError } from '../errors/errors.ts'
import { normalizeUrl, originOf } from './address.ts'
import { stateFolder } from './folders.ts'
import { type KeySource, keyOfCommand, keyOfEnvironment, noKey, storedKey } from './key.ts'
import {
  type GlobalFlags,
  isNamed,
  locate,
  type Place,
  requireFolder,
  type Sourced,
  type Surroundings,
  sourced,
  unknownProfile,
} from './place.ts'
import { configFile, own, type Profile, readCredentials } from './store.ts'

export type { GlobalFlags, Sourced, Surroundings }

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
export function resolveSettings(flags: GlobalFlags, surroundings: Surroundings): Settings {
  const { env, platform } = surroundings
  const place = locate(flags, surroundings)
  const { config, profile } = place
  const stored = own(config.profiles, profile.value)
  const from = `profile ${profile.value}`
  const pick = (variable: string, key: 'base_url' | 'site' | 'email' | 'ca_file') =>
    sourced(env[variable], variable) ?? sourced(stored?.[key], from)
  const baseUrl = normalized(sourced(flags.baseUrl, '--base-url') ?? pick('CONSENTCTL_BASE_URL', 'base_url'))
  if (isNamed(profile) && !stored && !baseUrl) throw unknownProfile(profile, config)
  return {
    get folder() {
      return requireFolder(place)
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
  throw noKey(
    keyIsFor
      ? `the profile’s key is for ${keyIsFor}, and is not sent to ${baseUrl?.value}`
      : 'no API key is set',
    'consentctl auth login, or set CONSENTCTL_API_KEY',
  )
}

/** The environment's key goes wherever the address says; a profile's, only to the scheme, host and port it is for. */
function findKey(
  { folder, profile }: Place,
  stored: Profile | undefined,
  baseUrl: Sourced | null,
  { env, warn }: Surroundings,
): Pick<Settings, 'apiKey' | 'keyIsFor'> {
  const credential = folder && own(readCredentials(folder.value, warn), profile.value)
  const given = keyOfEnvironment(env, warn)
  const command = folder && stored?.key_command
  const keyIsFor = (command ? stored.base_url : credential?.base_url) ?? null
  const isKeyHere = keyIsFor && baseUrl && originOf(keyIsFor) === originOf(baseUrl.value)
  if (given || !isKeyHere) return { apiKey: given, keyIsFor: isKeyHere ? null : keyIsFor }
  if (command) {
    const file = configFile(folder.value)
    return { apiKey: keyOfCommand(command, profile.value, file, env), keyIsFor: null }
  }
  return { apiKey: credential ? storedKey(profile.value, credential.api_key) : null, keyIsFor: null }
}

/** A profile that is protected protects its instance, under whatever name that is reached. */
function isProtected({ config, profile }: Place, baseUrl: Sourced | null): boolean {
  return Object.entries(config.profiles).some(([name, { protected: isSet, base_url }]) => {
    const isHere = base_url && baseUrl && originOf(base_url) === originOf(baseUrl.value)
    return isSet && (name === profile.value || isHere)
  })
}

function normalized(setting: Sourced | null): Sourced | null {
  return setting && { ...setting, value: normalizeUrl(setting.value, setting.source) }
}

/** Whether a URL's host is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
