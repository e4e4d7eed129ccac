import { chmodSync, closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { platform } from 'node:os'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { CliError, exit, settingsError } from '../errors/errors.ts'

/**
 * A JSON file by its schema; `none` where there is no file, and the schema is then not even made. Throws a CliError that
 * never quotes the file.
 */
export function readJsonFile<T>(file: string, schemaOf: () => z.ZodType<T>, none: T): T {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return none
    throw settingsError(`${file} cannot be read: ${(error as Error).message}`)
  }
  const parsed = schemaOf().safeParse(parseJson(file, text.replace(/^\uFEFF/, '')))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw unusable(`${file}: ${issue?.path.join('.')}: ${issue?.message}`)
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const line = text.slice(0, positionOf((error as Error).message, text)).split('\n').length
    throw unusable(`${file}, line ${line}: not valid JSON`)
  }
}

function unusable(message: string): CliError {
  return settingsError(message, 'mend the file, or move it away')
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

export interface Profile {
  readonly base_url?: string | undefined
  /** The site that new records belong to when none is named. */
  readonly site?: string | undefined
  /** Who signs in, where that is needed; never the password. */
  readonly email?: string | undefined
  /** Whether destructive commands ask for more than --yes. */
  readonly protected?: boolean | undefined
  /** A line for the shell that prints the key. */
  readonly key_command?: string | undefined
  /** A file with certificates of authorities to trust beside the usual ones. */
  readonly ca_file?: string | undefined
}

export interface Config {
  readonly profile?: string | undefined
  readonly profiles: Readonly<Record<string, Profile>>
}

/** By profile: a key, and the base address that it was stored for and goes to. */
export type Credentials = Readonly<Record<string, { readonly api_key: string; readonly base_url: string }>>

/** What is not known here, perhaps from a later version, stays in the files when they are written. */
const configSchema = () => {
  const text = z.string().optional()
  const texts = { base_url: text, site: text, email: text, key_command: text, ca_file: text }
  const profile = z.looseObject({ ...texts, protected: z.boolean().optional() })
  return z.looseObject({ profile: text, profiles: z.record(z.string(), profile).default({}) })
}

const credentialsSchema = () =>
  z.record(z.string(), z.looseObject({ api_key: z.string(), base_url: z.url() }))

export type Warn = (message: string) => void

export function configFile(folder: string): string {
  return join(folder, 'config.json')
}

export function credentialsFile(folder: string): string {
  return join(folder, 'credentials.json')
}

export function readConfig(folder: string): Config {
  return readJsonFile<Config>(configFile(folder), configSchema, { profiles: {} })
}

/** The stored keys. Permissions that let others read them are mended; `warn` hears of it. */
export function readCredentials(folder: string, warn: Warn): Credentials {
  const file = credentialsFile(folder)
  const isThere = mend(file, 0o600, warn)
  if (isThere) keepToOneself(folder, warn)
  return readJsonFile<Credentials>(file, credentialsSchema, {})
}

/** The profile or key of this name, and never what every object has under it. */
export function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
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

/** The bit of folders such as /tmp, which are for everybody, and where nobody can replace what is another's. */
const sticky = 0o1000

/** Mends a folder of our own. Another one may hold more than ours: there it is said what is wrong with it. */
function keepToOneself(folder: string, warn: Warn): void {
  if (basename(folder) === 'consentctl') return void mend(folder, 0o700, warn)
  const mode = statSync(folder).mode
  const isShared = platform() !== 'win32' && (mode & 0o022) !== 0 && (mode & 0o1000) === 0
  if (isShared) warn(`others may write in ${folder}, and so replace your keys`)
}

/** Takes from others what they may do with a file or folder; false where there is none. */
function mend(path: string, mode: number, warn: Warn): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found || !isOpenToOthers(found.mode)) return found !== undefined
  if (found.mode & sticky) return true
  try {
    chmodSync(path, mode)
    warn(`${path} was open to others; it is now for you alone`)
  } catch (error) {
    // Somebody else's file, or a file system that is only read: the command can do its work all the same.
    const reason = (error as NodeJS.ErrnoException).code
    warn(`${path} is open to others, and cannot be mended (${reason}): who reads it has your keys`)
  }
  return true
}

/** Whether others than the owner may do anything with a file; Windows has no such bits. */
export function isOpenToOthers(mode: number): boolean {
  return platform() !== 'win32' && (mode & 0o077) !== 0
}

/** Milliseconds. What is done under the lock takes a few: whoever holds it longer was killed. */
const [staleAfter, patience] = [10_000, 30_000]

/** Runs work that must not be interleaved with that of another process; the work is synchronous, so that it is short. */
export async function withLock<T>(folder: string, work: () => T): Promise<T> {
  const file = join(folder, '.lock')
  const start = Date.now()
  while (!take(file)) {
    if (Date.now() - start > patience) throw stuck(file)
    const { setTimeout: delay } = await import('node:timers/promises')
    await delay(5 + Math.random() * 20)
  }
  try {
    return work()
  } finally {
    rmSync(file, { force: true })
  }
}

/** Makes the lock's file, which only one can; one that a killed process has left is removed first. */
function take(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', 0o600))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw cannotWrite(dirname(file), error)
    const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs
    if (made !== undefined && Date.now() - made > staleAfter) rmSync(file, { force: true })
    return false
  }
}

function stuck(file: string): CliError {
  return new CliError('io', exit.failure, `another consentctl holds ${file}`, {
    hint: 'wait for it to end; if there is none, remove the file',
  })
}

/** The system's reason why a folder cannot be written (exit 1). */
export function cannotWrite(folder: string, cause: unknown): CliError {
  const { code, message } = cause as NodeJS.ErrnoException
  return new CliError('io', exit.failure, `${folder} cannot be written: ${code ?? message}`, {
    hint: 'see who owns it, and whether there is room; CONSENTCTL_CONFIG_DIR names another folder',
    cause,
  })
}

/** Adds or replaces a profile and its key. The first profile becomes the default one. */
export async function saveProfile(
  folder: string,
  name: string,
  profile: Profile & { readonly base_url: string },
  apiKey: string,
): Promise<void> {
  await change(folder, write => {
    const config = readConfig(folder)
    const profiles = { ...config.profiles, [name]: { ...own(config.profiles, name), ...profile } }
    const credentials = readCredentials(folder, () => {})
    write('credentials', { ...credentials, [name]: { api_key: apiKey, base_url: profile.base_url } })
    write('config', { ...config, profile: config.profile ?? name, profiles })
  })
}

/** Changes config.json: from what is there at that moment to what `edit` makes of it. */
export async function changeConfig(folder: string, edit: (config: Config) => Config): Promise<void> {
  await change(folder, write => write('config', edit(readConfig(folder))))
}

/** Forgets a profile's key; false where there was none. */
export async function removeKey(folder: string, name: string): Promise<boolean> {
  if (
    !Object.hasOwn(
      readCredentials(folder, () => {}),
      name,
    )
  )
    return false
  return await change(folder, write => {
    const { [name]: removed, ...rest } = readCredentials(folder, () => {})
    if (removed) write('credentials', rest)
    return removed !== undefined
  })
}

/** Forgets a profile with its key. */
export async function removeProfile(folder: string, name: string): Promise<void> {
  await removeKey(folder, name)
  await changeConfig(folder, ({ profile, ...config }) => {
    const { [name]: _, ...profiles } = config.profiles
    return { ...config, ...(profile !== undefined && profile !== name && { profile }), profiles }
  })
}

type Write = (configName: 'config' | 'credentials', content: object) => void

/**
 * Reads and writes with nobody else writing in between. conf writes atomically and with these permissions; reading is
 * done without it, for it costs every start 50 ms. Throws a CliError where the folder cannot be written.
 */
async function change<T>(folder: string, work: (write: Write) => T): Promise<T> {
  const { default: Conf } = await import('conf')
  const options = { cwd: folder, projectSuffix: '', accessPropertiesByDotNotation: false }
  const write: Write = (configName, content) =>
    system(folder, () => {
      const file = new Conf<Record<string, unknown>>({ ...options, configName, configFileMode: 0o600 })
      file.store = { ...content }
    })
  const { makeFolder, syncFolder } = await import('../io/draft.ts')
  await makeFolder(folder).catch(error => {
    throw cannotWrite(folder, error)
  })
  const result = await withLock(folder, () => work(write))
  await syncFolder(folder) // conf flushes the files that it writes, but not their names
  return result
}

function system(folder: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    throw cannotWrite(folder, error)
  }
}
