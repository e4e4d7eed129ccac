// What makes files and their names outlive a power cut: the system keeps both in memory until they are flushed.
import { closeSync, existsSync, fstatSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

/** Errors of systems and file systems that cannot flush a folder, or keep its names safe by themselves (Windows). */
const withoutFolders = new Set(['EACCES', 'EBADF', 'EINVAL', 'EISDIR', 'EPERM'])

/** Flushes an open file or folder to the disk. Throws the system's error, except for folders that cannot be flushed. */
export function flush(descriptor: number): void {
  try {
    fsyncSync(descriptor)
  } catch (error) {
    if (!isUnsupported(error) || !fstatSync(descriptor).isDirectory()) throw error
  }
}

/** Flushes the names in a folder. Throws the system's error, except where folders cannot be flushed. */
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

/**
 * Makes a folder that only its owner can look into, with all above it, and flushes their names. One level after the other:
 * Node's own recursive way never ends where a file system takes no folder at all (/proc).
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
  flushFolder(dirname(folder))
}

function isUnsupported(error: unknown): boolean {
  return withoutFolders.has((error as NodeJS.ErrnoException).code ?? '')
}
