import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { settingsError } from './errors.ts'

const Profile = z.object({
  base_url: z.string().optional(),
  /** The site that new records belong to when none is named. */
  site: z.string().optional(),
  /** Who signs in, where that is needed; never the password. */
  email: z.string().optional(),
})
export type Profile = z.output<typeof Profile>

const Config = z.object({
  profile: z.string().optional(),
  profiles: z.record(z.string(), Profile).default({}),
})
export type Config = z.output<typeof Config>

/** By profile: a key, and the base address that it was stored for and goes to. */
const Credentials = z.record(z.string(), z.object({ api_key: z.string(), base_url: z.url() }))
export type Credentials = z.output<typeof Credentials>

type Env = Readonly<Record<string, string | undefined>>

/** Where the configuration lives: one place on every Unix, macOS too (XDG Base Directory Specification). */
export function configFolder(env: Env, platform: string): string {
  if (env['CONSENTCTL_CONFIG_DIR']) return env['CONSENTCTL_CONFIG_DIR']
  if (platform === 'win32' && env['APPDATA']) return join(env['APPDATA'], 'consentctl')
  if (env['XDG_CONFIG_HOME']) return join(env['XDG_CONFIG_HOME'], 'consentctl')
  const home = env['HOME'] ?? env['USERPROFILE']
  if (!home)
    throw settingsError('there is no home folder to keep the configuration in', 'set CONSENTCTL_CONFIG_DIR')
  return join(home, '.config', 'consentctl')
}

/** The first of `name`, `name-2`, `name-3` … that no profile and no key has: what is stored is never overwritten. */
export function freeProfile(folder: string, name: string): string {
  const taken = { ...readConfig(folder).profiles, ...readCredentials(folder, () => {}) }
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}-${number}`
    if (!Object.hasOwn(taken, candidate)) return candidate
  }
}

/** The name of a profile that is for an address. */
export function profileFor(folder: string, baseUrl: string): string | undefined {
  const profiles = Object.entries(readConfig(folder).profiles)
  return profiles.find(([, profile]) => profile.base_url === baseUrl)?.[0]
}

export function readConfig(folder: string): Config {
  return readFile(join(folder, 'config.json'), Config)
}

/** The stored keys. Permissions that let others read them are mended; `warn` hears of it. */
export function readCredentials(folder: string, warn: (message: string) => void): Credentials {
  const file = join(folder, 'credentials.json')
  const isThere = mend(file, 0o600, warn)
  if (isThere) mend(folder, 0o700, warn)
  return readFile(file, Credentials)
}

/** Takes from others what they may do with a file or folder; false where there is none. */
function mend(path: string, mode: number, warn: (message: string) => void): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && (found.mode & 0o077) !== 0) {
    chmodSync(path, mode)
    warn(`${path} was open to others; it is now for you alone`)
  }
  return found !== undefined
}

/** Adds or replaces a profile and its key. The first profile becomes the default one. */
export async function saveProfile(
  folder: string,
  name: string,
  profile: Profile & { readonly base_url: string },
  apiKey: string,
): Promise<void> {
  const config = readConfig(folder)
  const profiles = { ...config.profiles, [name]: { ...config.profiles[name], ...profile } }
  const credentials = readCredentials(folder, () => {})
  await write(folder, 'credentials', {
    ...credentials,
    [name]: { api_key: apiKey, base_url: profile.base_url },
  })
  await write(folder, 'config', { profile: config.profile ?? name, profiles })
}

/** Forgets a profile's key; false where there was none. */
export async function removeKey(folder: string, name: string): Promise<boolean> {
  const credentials = readCredentials(folder, () => {})
  if (!Object.hasOwn(credentials, name)) return false
  const { [name]: _removed, ...rest } = credentials
  await write(folder, 'credentials', rest)
  return true
}

/** conf writes atomically and with these permissions; reading is done without it, for it costs every start 50 ms. */
async function write(folder: string, configName: string, content: object): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { Conf } = await import('./conf.ts')
  const options = { cwd: folder, configName, projectSuffix: '', accessPropertiesByDotNotation: false }
  const file = new Conf<Record<string, unknown>>({ ...options, configFileMode: 0o600 })
  file.store = { ...content }
}

function readFile<S extends z.ZodType>(file: string, schema: S): z.output<S> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return schema.parse({})
    throw settingsError(`${file} cannot be read: ${(error as Error).message}`)
  }
  const parsed = schema.safeParse(parseJson(file, text))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw settingsError(
    `${file}: ${issue?.path.join('.')}: ${issue?.message}`,
    'mend the file, or move it away',
  )
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const line = text.slice(0, positionOf((error as Error).message, text)).split('\n').length
    throw settingsError(`${file}, line ${line}: not valid JSON`, 'mend the file, or move it away')
  }
}

/** Where V8 says that JSON ends to be valid: by its position, by the text around it, or at the end. */
function positionOf(message: string, text: string): number {
  const position = /position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  const [, dots, around = ''] = /, (\.\.\.)?"(.*?)"(?:\.\.\.)? is not valid JSON$/s.exec(message) ?? []
  const start = text.indexOf(around)
  if (around === '' || start === -1) return text.length
  return start + (dots ? 10 : Math.max(0, around.indexOf(/token '(.)'/su.exec(message)?.[1] ?? '')))
}
