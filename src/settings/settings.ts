import { type CliError, settingsError, usageError } from '../errors/errors.ts'
import { configFolder, type Env, type Sourced, stateFolder } from './folders.ts'
import { commandKey, environmentKey, type KeySource, noKeyError, storedKey } from './key.ts'
import { type Config, configFile, own, type Profile, readConfig, readCredentials, type Warn } from './store.ts'

export interface GlobalFlags {
  readonly profile?: string | undefined
  readonly baseUrl?: string | undefined
  readonly caFile?: string | undefined
}

interface SettingsHost {
  readonly env: Env
  readonly platform: string
  readonly warn: Warn
}

export interface Configuration {
  readonly folder: Sourced | null
  readonly config: Config
  readonly profile: Sourced
}

/** Accepts an unknown profile and unusable values, unlike `resolveSettings`. */
export function readConfiguration(flags: GlobalFlags, { env, platform }: Omit<SettingsHost, 'warn'>): Configuration {
  const folder = configFolder(env, platform)
  const config = folder ? readConfig(folder.value) : { profiles: {} }
  const profile = sourced(flags.profile, '--profile') ??
    sourced(env['CONSENTCTL_PROFILE'], 'CONSENTCTL_PROFILE') ??
    sourced(config.profile, 'config.json') ?? { value: 'default', source: 'default' }
  return { folder, config, profile }
}

/** @throws CliError without a home folder */
export function requireConfigFolder({ folder }: Pick<Configuration, 'folder'>): string {
  if (folder) return folder.value
  throw settingsError('no home folder for the configuration', 'set CONSENTCTL_CONFIG_DIR')
}

export function isExplicit({ source }: Sourced): boolean {
  return source === '--profile' || source === 'CONSENTCTL_PROFILE'
}

/** @throws CliError (usage) */
export function checkProfileName(name: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{M}\p{N}._@-]{0,99}$/u.test(name)) return
  throw usageError(`invalid profile name "${name}"`, 'use letters, digits and hyphens')
}

/** An empty variable is unset; an empty flag is a usage error. */
export function sourced(value: string | undefined, source: string): Sourced | null {
  if (value === '' && source.startsWith('--')) throw usageError(`${source} must not be empty`)
  return value ? { value, source } : null
}

export function unknownProfile({ value, source }: Sourced, { profiles }: Config): CliError {
  const known = Object.keys(profiles)
  const others = known.length ? `known profiles: ${known.join(', ')}. ` : ''
  const hint = `${others}To create it: consentctl auth login -p ${value} --base-url https://…`
  return settingsError(`no profile "${value}" (from ${source})`, hint)
}

/** Precedence: flag, environment, profile, default. */
export interface Settings {
  /** Throws without a home folder. */
  readonly folder: string
  /** Throws without a home folder. */
  readonly stateFolder: string
  readonly profile: Sourced
  readonly baseUrl: Sourced | null
  readonly site: Sourced | null
  readonly email: Sourced | null
  /** Destructive commands require more than --yes. */
  readonly isProtected: boolean
  readonly caFile: Sourced | null
  readonly apiKey: KeySource | null
  /** Address of the profile's key, if not the instance. */
  readonly keyIsFor: string | null
  readonly allowHttp: readonly string[]
}

/** @throws CliError */
export function resolveSettings(flags: GlobalFlags, host: SettingsHost): Settings {
  const { env, platform } = host
  const configuration = readConfiguration(flags, host)
  const { config, profile } = configuration
  const stored = own(config.profiles, profile.value)
  const from = `profile ${profile.value}`
  const pick = (variable: string, key: 'base_url' | 'site' | 'email' | 'ca_file') =>
    sourced(env[variable], variable) ?? sourced(stored?.[key], from)
  const address = sourced(flags.baseUrl, '--base-url') ?? pick('CONSENTCTL_BASE_URL', 'base_url')
  const baseUrl = address && { ...address, value: parseBaseUrl(address.value, address.source) }
  if (isExplicit(profile) && !stored && !baseUrl) throw unknownProfile(profile, config)
  return {
    get folder() {
      return requireConfigFolder(configuration)
    },
    get stateFolder() {
      return stateFolder(env, platform).value
    },
    profile,
    baseUrl,
    site: pick('CONSENTCTL_SITE', 'site'),
    email: pick('CONSENTCTL_EMAIL', 'email'),
    isProtected: isProtected(configuration, baseUrl),
    caFile: sourced(flags.caFile, '--ca-file') ?? pick('CONSENTCTL_CA_FILE', 'ca_file'),
    ...findKey(configuration, stored, baseUrl, host),
    allowHttp: (env['CONSENTCTL_ALLOW_HTTP'] ?? '').split(',').map(name => name.trim()),
  }
}

/** @throws CliError if no instance is set, or a key would go over plain http to another machine */
export function requireBaseUrl({ baseUrl, allowHttp }: Settings): string {
  if (!baseUrl)
    throw settingsError('no instance is set', 'consentctl auth login --base-url https://… , or set CONSENTCTL_BASE_URL')
  const { protocol, hostname } = new URL(baseUrl.value)
  if (protocol === 'http:' && !isLoopback(hostname) && !allowHttp.includes(hostname)) {
    throw settingsError(
      `${baseUrl.value} (from ${baseUrl.source}) is not encrypted: keys and passwords are not sent to it`,
      `use https, or set CONSENTCTL_ALLOW_HTTP=${hostname}`,
    )
  }
  return baseUrl.value
}

/** @throws CliError `no_key` */
export function requireApiKey({ apiKey, keyIsFor, baseUrl }: Settings): KeySource {
  if (apiKey) return apiKey
  throw noKeyError(
    keyIsFor ? `the profile’s key belongs to ${keyIsFor} and is not sent to ${baseUrl?.value}` : 'no API key is set',
    'consentctl auth login, or set CONSENTCTL_API_KEY',
  )
}

/** The environment's key goes to any address, a profile's only to the scheme, host and port it was stored for. */
function findKey(
  { folder, profile }: Configuration,
  stored: Profile | undefined,
  baseUrl: Sourced | null,
  { env, warn }: SettingsHost,
): Pick<Settings, 'apiKey' | 'keyIsFor'> {
  const credential = folder && own(readCredentials(folder.value, warn), profile.value)
  const fromEnvironment = environmentKey(env, warn)
  const command = folder && stored?.key_command
  const keyIsFor = (command ? stored.base_url : credential?.base_url) ?? null
  const isKeyHere = keyIsFor && baseUrl && originOf(keyIsFor) === originOf(baseUrl.value)
  if (fromEnvironment || !isKeyHere) return { apiKey: fromEnvironment, keyIsFor: isKeyHere ? null : keyIsFor }
  if (command) {
    const file = configFile(folder.value)
    return { apiKey: commandKey(command, profile.value, file, env), keyIsFor: null }
  }
  return { apiKey: credential ? storedKey(profile.value, credential.api_key) : null, keyIsFor: null }
}

/** A protected profile also protects its instance in other profiles. */
function isProtected({ config, profile }: Configuration, baseUrl: Sourced | null): boolean {
  return Object.entries(config.profiles).some(([name, { protected: isSet, base_url }]) => {
    const isHere = base_url && baseUrl && originOf(base_url) === originOf(baseUrl.value)
    return isSet && (name === profile.value || isHere)
  })
}

/** Removes slashes at the end. @throws CliError (usage) */
export function parseBaseUrl(value: string, source: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  if (!url || !/^https?:$/.test(url.protocol)) {
    const shown = value.includes('@') ? '' : ` "${value}"` // may hold a password
    throw usageError(`${source}: invalid address${shown}`, 'use an address like https://consent.example.com')
  }
  if (url.username || url.password) throw usageError(`${source}: an address must not contain credentials`)
  if (url.search || url.hash) throw usageError(`${source}: an address must not have a query or a fragment`)
  const path = url.pathname.replace(/\/+$/, '')
  const [, prefix] = /^(.*)\/api(?:\/.*)?$/.exec(path) ?? []
  if (prefix !== undefined)
    throw usageError(`${source}: remove the path of the API from "${value}"`, `use ${url.origin}${prefix}`)
  return url.origin + path
}

export function originOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).origin : null
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/** At most a day. @throws CliError (usage) */
export function parseSeconds(text: string, source: string, least: number): number {
  const seconds = /^\d{1,5}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  if (seconds >= least && seconds <= 86_400) return seconds
  throw usageError(`${source} must be a number of seconds from ${least} to 86400`)
}

interface JobOrigin {
  readonly profile: string
  readonly base_url: string
}

/** Adds flags that select the job's instance; null if selected already. */
export function commandForOrigin(settings: Settings, { profile, base_url }: JobOrigin, command: string): string | null {
  if (settings.profile.value === profile && requireBaseUrl(settings) === base_url) return null
  return `${command} -p ${profile} --base-url ${base_url}`
}

/** @throws CliError (usage) for another instance than the job's */
export function requireSameOrigin(settings: Settings, origin: JobOrigin, command: string): void {
  const hint = commandForOrigin(settings, origin, command)
  if (hint === null) return
  const now = `${settings.profile.value} at ${requireBaseUrl(settings)}`
  throw usageError(`the job was started with profile ${origin.profile} at ${origin.base_url}, and this is ${now}`, hint)
}
