import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { Socket } from 'node:net'
import { platform } from 'node:os'
import { noKey } from './key.ts'
import type { Warn } from './store.ts'

/** Bytes: far over any key, and little enough to read whatever somebody names by mistake. */
const largest = 64 * 1024

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
    if (stats.size > largest) throw tooLarge(path)
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
      if (size > largest) throw tooLarge(path)
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
  return noKey(`the key’s file ${path} cannot be used: ${reason}`, 'see what CONSENTCTL_API_KEY_FILE names')
}
