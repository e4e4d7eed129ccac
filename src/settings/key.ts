import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs'
import { Socket } from 'node:net'
import { platform, userInfo } from 'node:os'
import { CliError, exit, settingsError } from '../errors/errors.ts'
import type { Warn } from './store.ts'

/** A key as text, and where it came from. */
export interface Key {
  readonly value: string
  readonly source: string
}

/** Where a key comes from. It is read when a request needs it, and once: a command may ask a person, or cost money. */
export interface KeySource {
  readonly source: string
  /** The key, where it is at hand already; null where it would have to be read from a file, or from a command. */
  readonly atHand: string | null
  /** Throws a CliError where there is no key, or what is there is none (exit 4). */
  read(): Promise<Key>
}

type Env = Readonly<Record<string, string | undefined>>

/** The key of the environment: as text, or as the name of a file. Both at once is an error, for one of them is wrong. */
export function environmentKey(env: Env, warn: Warn): KeySource | null {
  const text = env['CONSENTCTL_API_KEY']?.trim()
  const file = env['CONSENTCTL_API_KEY_FILE']
  if (text && file) {
    return lazyKey('CONSENTCTL_API_KEY and CONSENTCTL_API_KEY_FILE', null, async () => {
      throw settingsError('CONSENTCTL_API_KEY and CONSENTCTL_API_KEY_FILE are both set', 'unset one of them')
    })
  }
  if (text) return lazyKey('CONSENTCTL_API_KEY', text, async () => text)
  if (!file) return null
  return lazyKey('CONSENTCTL_API_KEY_FILE', null, async () => readKeyFile(file, warn))
}

/** A key that a profile's command prints. `configFile` is where the command stands. */
export function commandKey(command: string, profile: string, configFile: string, env: Env): KeySource {
  return lazyKey(`profile ${profile}, key_command`, null, async () =>
    runKeyCommand(command, { profile, configFile, env }),
  )
}

export function storedKey(profile: string, text: string): KeySource {
  return lazyKey(`profile ${profile}, credentials.json`, text, async () => text)
}

/** A key as it may be shown: its kind and its last four characters. */
export function maskKey(key: string): string {
  return key.length > 12 ? `${key.slice(0, 3)}…${key.slice(-4)}` : '…'
}

/** Whether a text has the shape of a key, whatever is in it. */
export function isKey(text: string): boolean {
  return /^sk-[\x21-\x7e]+$/.test(text)
}

/** There is no key to be had from a source (exit 4). */
export function noKeyError(message: string, hint: string): CliError {
  return new CliError('no_key', exit.auth, message, { hint })
}

function lazyKey(source: string, atHand: string | null, text: () => Promise<string>): KeySource {
  let reading: Promise<Key> | undefined
  const read = async () => {
    const value = (await text()).trim()
    if (value === '')
      throw noKeyError(`${source}: there is nothing in it`, 'a key is one line, and begins with sk-')
    if (!isKey(value))
      throw noKeyError(`${source} holds no API key`, 'a key is one line, and begins with sk-')
    return { value, source }
  }
  return {
    source,
    atHand,
    read: () => {
      reading ??= read()
      return reading
    },
  }
}

/** Bytes: far over any key, and little enough to read whatever somebody names by mistake. */
const maxFileBytes = 64 * 1024

/**
 * The text of a key's file, without a byte order mark: a file, or a pipe such as a shell's `<(…)`, which has `limit`
 * milliseconds. A file that others may read or change is used, with a warning: where secrets are mounted, it is often so.
 */
export async function readKeyFile(path: string, warn: Warn, limit = 30_000): Promise<string> {
  const descriptor = open(path)
  const stats = fstatSync(descriptor)
  if (stats.isFIFO()) return toText(path, await readPipe(path, descriptor, limit)) // which closes it
  try {
    if (!stats.isFile()) throw unusable(path, stats.isDirectory() ? 'it is a folder' : 'it is no file')
    if (stats.size > maxFileBytes) throw tooLarge(path)
    if (isOpenToOthers(stats)) warn(`${path} is open to others; chmod 600 keeps the key yours`)
    return toText(path, readFileSync(descriptor))
  } finally {
    closeSync(descriptor)
  }
}

/** Opens without waiting for whoever writes a pipe, which no time limit would end. */
function open(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw unusable(path, code === 'ENOENT' ? 'there is no such file' : message)
  }
}

async function readPipe(path: string, descriptor: number, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  const pipe = new Socket({ fd: descriptor, readable: true, writable: false })
  const timer = setTimeout(() => pipe.destroy(unusable(path, `it did not end in ${limit / 1000} s`)), limit)
  try {
    for await (const chunk of pipe as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxFileBytes) throw tooLarge(path)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(timer)
    pipe.destroy()
  }
}

/** Others may read or change it, or its group may change it; that a group may read it is how services share it. */
function isOpenToOthers({ mode }: Stats): boolean {
  return platform() !== 'win32' && (mode & 0o027) !== 0
}

function toText(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw unusable(path, 'it is not valid UTF-8')
  }
}

function tooLarge(path: string) {
  return unusable(path, 'it is larger than 64 KiB, and no key')
}

function unusable(path: string, reason: string) {
  return noKeyError(
    `the key’s file ${path} cannot be used: ${reason}`,
    'see what CONSENTCTL_API_KEY_FILE names',
  )
}

/** Bytes that a command may print; a key has about a hundred. */
const maxOutputBytes = 64 * 1024

export interface CommandContext {
  /** Whose command it is. */
  readonly profile: string
  /** Where it stands: who may write there may run anything as this user. */
  readonly configFile: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * What a profile's key_command prints. The shell runs it, as git's and aws's credential commands; stderr is the user's,
 * so that it can ask; stdin is not, for it may hold records. It has `limit` milliseconds.
 */
export async function runKeyCommand(
  command: string,
  { profile, configFile, env }: CommandContext,
  limit = 30_000,
): Promise<string> {
  refuseForeign(configFile)
  const { spawn } = await import('node:child_process')
  const fails = (reason: string) =>
    noKeyError(
      `the key_command of profile ${profile} ${reason}`,
      `run it by itself: consentctl config get key_command -p ${profile}`,
    )
  return await new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, env, stdio: ['ignore', 'pipe', 'inherit'] })
    const chunks: Buffer[] = []
    let size = 0
    const stop = (reason: string) => {
      child.kill()
      child.stdout.destroy() // what the command has started may hold it open
      child.unref()
      reject(fails(reason))
    }
    const timer = setTimeout(() => stop(`did not end in ${limit / 1000} s`), limit)
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > maxOutputBytes) stop('prints more than any key is long')
    })
    child.once('error', error => stop(`cannot be run: ${error.message}`))
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'))
      else reject(fails(code === null ? `was ended by ${signal}` : `failed with exit code ${code}`))
    })
  })
}

/** Refuses a command that somebody else may have written: the file must be one that only its owner and root can change. */
function refuseForeign(configFile: string): void {
  const { mode, uid } = statSync(configFile)
  const me = userInfo().uid
  if (me === -1) return // Windows keeps this otherwise
  if ((mode & 0o022) === 0 && (uid === me || uid === 0)) return
  throw settingsError(
    `${configFile} can be changed by others, so that no key_command in it is run`,
    `see what it holds; then chown it to yourself, and chmod 600 ${configFile}`,
  )
}
