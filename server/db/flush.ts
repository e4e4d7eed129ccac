// A file survives a power cut if its data and its folder are flushed.
import { closeSync, existsSync, fstatSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

/** Systems such as Windows cannot flush a folder. */
const withoutFolders = new Set(['EACCES', 'EBADF', 'EINVAL', 'EISDIR', 'EPERM'])

export function flush(descriptor: number): void {
  try {
    fsyncSync(descriptor)
  } catch (error) {
    if (!isUnsupported(error) || !fstatSync(descriptor).isDirectory()) throw error
  }
}

export function flushFolder(folder: string): void {
  let descriptor: number
  try {
    descriptor = openSync(folder, 'r')
  } catch (error) {
    if (isUnsupported(error)) return
    throw error
  }
  try {
    flush(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Node's `recursive` never returns on /proc. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
  flushFolder(dirname(folder))
}

function isUnsupported(error: unknown): boolean {
  return withoutFolders.has((error as NodeJS.ErrnoException).code ?? '')
}
