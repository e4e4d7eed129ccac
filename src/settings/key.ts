import { constants, createReadStream, openSync, type Stats, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { platform, userInfo } from 'node:os'
import type { Readable } from 'node:stream'
import { CliError, exit, settingsError } from '../errors/errors.ts'
import type { Env, Sourced } from './folders.ts'
import type { Warn } from './store.ts'

/** Read once, at the first request: a key command may prompt. */
export interface KeySource {
  readonly source: string
  /** Null if a file or a command has the key. */
  readonly atHand: string | null
  /** @throws CliError `no_key` (exit 4) */
  read(): Promise<Sourced>
}

/** Setting both CONSENTCTL_API_KEY and CONSENTCTL_API_KEY_FILE is an error. */
export function environmentKey(env: Env, warn: Warn): KeySource | null {
  const text = env['CONSENTCTL_API_KEY']?.trim()
  const file = env['CONSENTCTL_API_KEY_FILE']
  if (text && file) {
    const both = 'CONSENTCTL_API_KEY and CONSENTCTL_API_KEY_FILE'
    return lazyKey(both, null, async () => {
      throw settingsError(`${both} are both set`, 'unset one of them')
    })
  }
  if (text) return lazyKey('CONSENTCTL_API_KEY', text, async () => text)
  if (!file) return null
  return lazyKey('CONSENTCTL_API_KEY_FILE', null, () => readKeyFile(file, warn))
}

export function commandKey(command: string, profile: string, configFile: string, env: Env): KeySource {
  return lazyKey(`profile ${profile}, key_command`, null, () => runKeyCommand(command, { profile, configFile, env }))
}

export function storedKey(profile: string, text: string): KeySource {
  return lazyKey(`profile ${profile}, credentials.json`, text, async () => text)
}

export function maskKey(key: string): string {
  return key.length > 12 ? `${key.slice(0, 3)}…${key.slice(-4)}` : '…'
}

export function isKey(text: string): boolean {
  return /^sk-[\x21-\x7e]+$/.test(text)
}

export function noKeyError(message: string, hint: string): CliError {
  return new CliError('no_key', exit.auth, message, { hint })
}

function lazyKey(source: string, atHand: string | null, readText: () => Promise<string>): KeySource {
  let reading: Promise<Sourced> | undefined
  const read = async () => {
    const value = (await readText()).trim()
    const shape = 'a key is one line that begins with sk-'
    if (value === '') throw noKeyError(`${source} is empty`, shape)
    if (!isKey(value)) throw noKeyError(`${source} is not an API key`, shape)
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

const maxBytes = 64 * 1024

/**
 * Reads a regular file, or a pipe such as `<(…)`. Only warns if others can read or change it: mounted secrets often
 * allow that.
 */
export async function readKeyFile(path: string, warn: Warn, timeoutMs = 30_000): Promise<string> {
  const stats = await stat(path).catch(({ code, message }: NodeJS.ErrnoException) => {
    throw unusable(path, code === 'ENOENT' ? 'no such file' : message)
  })
  if (!stats.isFile() && !stats.isFIFO())
    throw unusable(path, stats.isDirectory() ? 'it is a folder' : 'it is not a regular file')
  if (stats.isFile() && isExposed(stats)) warn(`${path} is readable or writable by others; use chmod 600`)
  const chunks: Buffer[] = []
  let size = 0
  let timer: NodeJS.Timeout | undefined
  try {
    const stream = stats.isFile() ? createReadStream(path) : await openPipe(path)
    timer = setTimeout(() => stream.destroy(new Error(`it did not finish within ${timeoutMs / 1000} s`)), timeoutMs)
    for await (const chunk of stream) {
      size += chunk.length
      if (size > maxBytes) throw new Error('it is larger than 64 KiB, too large for a key')
      chunks.push(chunk)
    }
  } catch (error) {
    throw unusable(path, (error as Error).message)
  } finally {
    clearTimeout(timer)
  }
  return decodeKeyFile(path, Buffer.concat(chunks))
}

/** Does not wait for a pipe's writer, which no timeout could end. */
async function openPipe(path: string): Promise<Readable> {
  const { Socket } = await import('node:net')
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return new Socket({ fd, readable: true, writable: false })
}

/** Group access is allowed: services share secrets that way. */
function isExposed({ mode }: Stats): boolean {
  return platform() !== 'win32' && (mode & 0o027) !== 0
}

function decodeKeyFile(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw unusable(path, 'it is not valid UTF-8')
  }
}

function unusable(path: string, reason: string) {
  return noKeyError(`cannot read the key file ${path}: ${reason}`, 'check CONSENTCTL_API_KEY_FILE')
}

/**
 * Runs key_command in the shell. It can prompt on stderr; stdin may hold records. Anyone who can write to `configFile`
 * can run any program as this user.
 */
export async function runKeyCommand(
  command: string,
  { profile, configFile, env }: { profile: string; configFile: string; env: Env },
  timeoutMs = 30_000,
): Promise<string> {
  requirePrivate(configFile)
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
      child.stdout.destroy() // a grandchild may hold it
      child.unref()
      reject(fails(reason))
    }
    const timer = setTimeout(() => stop(`did not finish within ${timeoutMs / 1000} s`), timeoutMs)
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > maxBytes) stop('prints more than 64 KiB, too much for a key')
    })
    child.once('error', error => stop(`cannot be run: ${error.message}`))
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'))
      else reject(fails(code === null ? `was ended by ${signal}` : `failed with exit code ${code}`))
    })
  })
}

/** @throws CliError if others can change the file, except root */
function requirePrivate(configFile: string): void {
  const { mode, uid } = statSync(configFile)
  const me = userInfo().uid
  if (me === -1) return // Windows
  if ((mode & 0o022) === 0 && (uid === me || uid === 0)) return
  throw settingsError(
    `${configFile} can be changed by others, so its key_command is not run`,
    `check what it holds, then chown it to yourself and chmod 600 ${configFile}`,
  )
}
