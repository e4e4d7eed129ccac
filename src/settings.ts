import { CliError, settingsError, usageError } from './errors.ts'
import { exit } from './exit.ts'
import { configFolder, readConfig, readCredentials } from './store.ts'

/** A setting and where it came from: a flag, a variable, a profile or the default. */
export interface Sourced {
  readonly value: string
  readonly source: string
}

export interface GlobalFlags {
  readonly profile?: string | undefined
  readonly baseUrl?: string | undefined
}

/** What a command knows of its surroundings, each part by its precedence: flag, environment, profile, default. */
export interface Settings {
  readonly folder: string
  readonly profile: Sourced
  readonly baseUrl: Sourced | null
  readonly site: Sourced | null
  /** Who signs in, where that is needed. */
  readonly email: Sourced | null
  readonly apiKey: Sourced | null
  /** The address that the profile's key is for, where that is another one than the key would now be sent to. */
  readonly keyIsFor: string | null
  /** Hosts that plain http is allowed to, by name. */
  readonly allowHttp: readonly string[]
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: string
  readonly warn: (message: string) => void
}

/** Resolves the settings. Throws a CliError for a file that cannot be read, or an address that is none. */
export function resolveSettings(flags: GlobalFlags, { env, platform, warn }: Surroundings): Settings {
  const folder = configFolder(env, platform)
  const config = readConfig(folder)
  const named =
    sourced(flags.profile, '--profile') ?? sourced(env['CONSENTCTL_PROFILE'], 'CONSENTCTL_PROFILE')
  const profile = named ?? sourced(config.profile, 'config.json') ?? { value: 'default', source: 'default' }
  const stored = own(config.profiles, profile.value)
  const from = `profile ${profile.value}`
  const baseUrl = normalized(
    sourced(flags.baseUrl, '--base-url') ??
      sourced(env['CONSENTCTL_BASE_URL'], 'CONSENTCTL_BASE_URL') ??
      sourced(stored?.base_url, from),
  )
  if (named && !stored && !baseUrl) throw unknownProfile(named, Object.keys(config.profiles))
  const credential = own(readCredentials(folder, warn), profile.value)
  const isKeyHere = credential && baseUrl && origin(credential.base_url) === origin(baseUrl.value)
  const apiKey = sourced(env['CONSENTCTL_API_KEY']?.trim(), 'CONSENTCTL_API_KEY')
  return {
    folder,
    profile,
    baseUrl,
    site: sourced(env['CONSENTCTL_SITE'], 'CONSENTCTL_SITE') ?? sourced(stored?.site, from),
    email: sourced(env['CONSENTCTL_EMAIL'], 'CONSENTCTL_EMAIL') ?? sourced(stored?.email, from),
    apiKey: apiKey ?? (isKeyHere ? { value: credential.api_key, source: `${from}, credentials.json` } : null),
    keyIsFor: credential && !isKeyHere ? credential.base_url : null,
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

/** The key. Throws a CliError where none is set for the instance. */
export function requireApiKey({ apiKey, keyIsFor, baseUrl }: Settings): Sourced {
  if (apiKey) return apiKey
  const reason = keyIsFor
    ? `the stored key is for ${keyIsFor}, and is not sent to ${baseUrl?.value}`
    : 'no API key is set'
  throw new CliError('no_key', exit.auth, reason, {
    hint: 'consentctl auth login, or set CONSENTCTL_API_KEY',
  })
}

/** A key as it may be shown: its kind and its last four characters. */
export function maskKey(key: string): string {
  return key.length > 12 ? `${key.slice(0, 3)}…${key.slice(-4)}` : '…'
}

/** The scheme, host and port of an address, by which keys are kept apart. */
export function origin(address: string): string {
  return new URL(address).origin
}

/** Checks an address and takes the slash from its end. Throws a usage error. */
export function normalizeUrl(value: string, source: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw usageError(`${source}: "${value}" is no address`, 'write it like https://consent.example.com')
  }
  if (url.username || url.password) throw usageError(`${source}: an address must not hold credentials`)
  if (url.search || url.hash) throw usageError(`${source}: an address has no query and no fragment`)
  return url.origin + url.pathname.replace(/\/+$/, '')
}

function normalized(setting: Sourced | null): Sourced | null {
  return setting && { ...setting, value: normalizeUrl(setting.value, setting.source) }
}

/** A set value with its source; an empty variable counts as unset, an empty flag as an error of its own. */
function sourced(value: string | undefined, source: string): Sourced | null {
  if (value === '' && source.startsWith('--')) throw usageError(`${source} must not be empty`)
  return value ? { value, source } : null
}

function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

function unknownProfile({ value, source }: Sourced, known: string[]): CliError {
  const others = known.length ? `there are: ${known.join(', ')}. ` : ''
  const hint = `${others}To make it: consentctl auth login -p ${value} --base-url https://…`
  return settingsError(`there is no profile "${value}" (from ${source})`, hint)
}

/** Whether a URL's host is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
