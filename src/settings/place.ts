import { type CliError, settingsError, usageError } from '../errors/errors.ts'
import { configFolder, type Folder } from './folders.ts'
import { type Config, readConfig, type Warn } from './store.ts'

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

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: string
  readonly warn: Warn
}

/** The files of the configuration, and which profile of theirs is meant. */
export interface Place {
  /** Null where there is no home folder to have it in. */
  readonly folder: Folder | null
  readonly config: Config
  readonly profile: Sourced
}

/** Finds the configuration; unlike resolveSettings also where the profile is unknown, or what it holds makes no sense. */
export function locate(flags: GlobalFlags, { env, platform }: Omit<Surroundings, 'warn'>): Place {
  const folder = configFolder(env, platform)
  const config = folder ? readConfig(folder.value) : { profiles: {} }
  const profile = sourced(flags.profile, '--profile') ??
    sourced(env['CONSENTCTL_PROFILE'], 'CONSENTCTL_PROFILE') ??
    sourced(config.profile, 'config.json') ?? { value: 'default', source: 'default' }
  return { folder, config, profile }
}

/** Throws a CliError where there is nowhere to have a configuration. */
export function requireFolder({ folder }: Pick<Place, 'folder'>): string {
  if (folder) return folder.value
  throw settingsError('there is no home folder to keep the configuration in', 'set CONSENTCTL_CONFIG_DIR')
}

/** Whether somebody has asked for this profile, rather than the configuration. */
export function isNamed({ source }: Sourced): boolean {
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
