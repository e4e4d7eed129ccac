import { chmodSync, closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { platform } from 'node:os'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { CliError, exit, settingsError } from '../errors/errors.ts'
import type { Host } from '../io/io.ts'
import { configFolder } from './folders.ts'

export interface Profile {
  readonly base_url?: string | undefined
  /** For new records. */
  readonly site?: string | undefined
  readonly email?: string | undefined
  readonly protected?: boolean | undefined
  /** Prints the key, run by the shell. */
  readonly key_command?: string | undefined
  /** Additional certificate authorities, PEM. */
  readonly ca_file?: string | undefined
}

export interface Config {
  readonly profile?: string | undefined
  readonly profiles: Readonly<Record<string, Profile>>
}

/** By profile. */
export type Credentials = Readonly<Record<string, { readonly api_key: string; readonly base_url: string }>>

/** Keeps a later version's fields. */
const configSchema = () => {
  const text = z.string().optional()
  const texts = { base_url: text, site: text, email: text, key_command: text, ca_file: text }
  const profile = z.looseObject({ ...texts, protected: z.boolean().optional() })
  return z.looseObject({ profile: text, profiles: z.record(z.string(), profile).default({}) })
}

const credentialsSchema = () => z.record(z.string(), z.looseObject({ api_key: z.string(), base_url: z.url() }))

export type Warn = (message: string) => void

export function configFile(folder: string): string {
  return join(folder, 'config.json')
}

export function credentialsFile(folder: string): string {
  return join(folder, 'credentials.json')
}

/** @throws CliError (settings) */
export function readConfig(folder: string): Config {
  return readJsonFile<Config>(configFile(folder), configSchema, { profiles: {} })
}

/** Removes other users' permissions, with a warning. */
export function readCredentials(folder: string, warn: Warn): Credentials {
  const file = credentialsFile(folder)
  const exists = restrict(file, 0o600, warn)
  if (exists) restrictFolder(folder, warn)
  return readJsonFile<Credentials>(file, credentialsSchema, {})
}

export function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

export function freeProfile(folder: string, name: string): string {
  const taken = { ...readConfig(folder).profiles, ...readCredentials(folder, () => {}) }
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}-${number}`
    if (!Object.hasOwn(taken, candidate)) return candidate
  }
}

/** Never throws: help needs no valid settings. */
export function hasProfile({ env, platform }: Pick<Host, 'env' | 'platform'>): boolean {
  try {
    const folder = configFolder(env, platform)
    return folder !== null && Object.keys(readConfig(folder.value).profiles).length > 0
  } catch {
    return false
  }
}

export function profileFor(folder: string, baseUrl: string): string | undefined {
  const profiles = Object.entries(readConfig(folder).profiles)
  return profiles.find(([, profile]) => profile.base_url === baseUrl)?.[0]
}

/** On folders such as /tmp: others cannot replace a user's file. */
const stickyBit = 0o1000

/** Only warns for a shared folder: it may hold other files. */
function restrictFolder(folder: string, warn: Warn): void {
  if (basename(folder) === 'consentctl') return void restrict(folder, 0o700, warn)
  const { mode } = statSync(folder)
  const isShared = platform() !== 'win32' && (mode & 0o022) !== 0 && (mode & stickyBit) === 0
  if (isShared) warn(`others can write to ${folder}, and could replace your keys`)
}

/** False if the path does not exist. */
function restrict(path: string, mode: number, warn: Warn): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found || !isOpenToOthers(found.mode)) return found !== undefined
  if (found.mode & stickyBit) return true
  try {
    chmodSync(path, mode)
    warn(`${path} was open to others; now only you can read it`)
  } catch (error) {
    // Another user's file, or a read-only file system.
    const reason = (error as NodeJS.ErrnoException).code
    warn(`${path} is open to others and cannot be restricted (${reason}): anyone who can read it has your keys`)
  }
  return true
}

export function isOpenToOthers(mode: number): boolean {
  return platform() !== 'win32' && (mode & 0o077) !== 0
}

/** `none` if there is no file. Errors never quote the file. */
function readJsonFile<T>(file: string, schemaOf: () => z.ZodType<T>, none: T): T {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return none
    throw settingsError(`cannot read ${file}: ${(error as Error).message}`)
  }
  const parsed = schemaOf().safeParse(parseJson(file, text.replace(/^\uFEFF/, '')))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw invalidFile(`${file}: ${issue?.path.join('.')}: ${issue?.message}`)
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const line = text.slice(0, findErrorPosition((error as Error).message, text)).split('\n').length
    throw invalidFile(`${file}, line ${line}: not valid JSON`)
  }
}

function invalidFile(message: string): CliError {
  return settingsError(message, 'correct the file, or move it away')
}

/** V8's message has the position or nearby text. */
function findErrorPosition(message: string, text: string): number {
  const position = /position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  const [, dots, around = ''] = /, (\.\.\.)?"(.*?)"(?:\.\.\.)? is not valid JSON$/s.exec(message) ?? []
  const start = text.indexOf(around)
  if (around === '' || start === -1) return text.length
  return start + (dots ? 10 : Math.max(0, around.indexOf(/token '(.)'/su.exec(message)?.[1] ?? '')))
}

export async function saveProfile(
  folder: string,
  name: string,
  profile: Profile & { readonly base_url: string },
  apiKey: string,
): Promise<void> {
  await update(folder, write => {
    const config = readConfig(folder)
    const profiles = { ...config.profiles, [name]: { ...own(config.profiles, name), ...profile } }
    const credentials = readCredentials(folder, () => {})
    write('credentials', { ...credentials, [name]: { api_key: apiKey, base_url: profile.base_url } })
    write('config', { ...config, profile: config.profile ?? name, profiles })
  })
}

export async function changeConfig(folder: string, edit: (config: Config) => Config): Promise<void> {
  await update(folder, write => write('config', edit(readConfig(folder))))
}

export async function removeKey(folder: string, name: string): Promise<boolean> {
  const stored = readCredentials(folder, () => {})
  if (!Object.hasOwn(stored, name)) return false
  return await update(folder, write => {
    const { [name]: removed, ...rest } = readCredentials(folder, () => {})
    if (removed) write('credentials', rest)
    return removed !== undefined
  })
}

export async function removeProfile(folder: string, name: string): Promise<void> {
  await removeKey(folder, name)
  await changeConfig(folder, ({ profile, ...config }) => {
    const { [name]: _, ...profiles } = config.profiles
    return { ...config, ...(profile !== undefined && profile !== name && { profile }), profiles }
  })
}

type Write = (configName: 'config' | 'credentials', content: object) => void

/**
 * conf writes atomically; other reads avoid it, because loading takes 50 ms.
 * @throws CliError `io` (exit 1)
 */
async function update<T>(folder: string, work: (write: Write) => T): Promise<T> {
  const { default: Conf } = await import('conf')
  const options = { cwd: folder, projectSuffix: '', accessPropertiesByDotNotation: false }
  const write: Write = (configName, content) => {
    try {
      const file = new Conf<Record<string, unknown>>({ ...options, configName, configFileMode: 0o600 })
      file.store = { ...content }
    } catch (error) {
      throw cannotWrite(folder, error)
    }
  }
  const { makeFolder, syncFolder } = await import('../io/new-file.ts')
  await makeFolder(folder).catch(error => {
    throw cannotWrite(folder, error)
  })
  const result = await withLock(folder, () => work(write))
  await syncFolder(folder) // conf does not flush names
  return result
}

/** An older lock was left by a killed process. */
const staleLockMs = 10_000

const lockTimeoutMs = 30_000

/** Synchronous, to hold the lock briefly. */
async function withLock<T>(folder: string, work: () => T): Promise<T> {
  const file = join(folder, '.lock')
  const start = Date.now()
  while (!takeLock(file)) {
    if (Date.now() - start > lockTimeoutMs)
      throw new CliError('io', exit.failure, `another consentctl holds ${file}`, {
        hint: 'wait until it ends; if none is running, remove the file',
      })
    const { setTimeout: delay } = await import('node:timers/promises')
    await delay(5 + Math.random() * 20)
  }
  try {
    return work()
  } finally {
    rmSync(file, { force: true })
  }
}

function takeLock(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', 0o600))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw cannotWrite(dirname(file), error)
    const takenAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs
    if (takenAt !== undefined && Date.now() - takenAt > staleLockMs) rmSync(file, { force: true })
    return false
  }
}

function cannotWrite(folder: string, cause: unknown): CliError {
  if (cause instanceof CliError) return cause
  const { code, message } = cause as NodeJS.ErrnoException
  return new CliError('io', exit.failure, `cannot write to ${folder}: ${code ?? message}`, {
    hint: 'check its owner and the free space, or set CONSENTCTL_CONFIG_DIR to another folder',
    cause,
  })
}
