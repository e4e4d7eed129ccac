import { chmodSync, statSync } from 'node:fs'
import { platform } from 'node:os'
import { basename, join } from 'node:path'
import * as z from 'zod'
import { readJsonFile } from './json-file.ts'

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
  if (!found || !isOpen(found.mode)) return found !== undefined
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
export function isOpen(mode: number): boolean {
  return platform() !== 'win32' && (mode & 0o077) !== 0
}
