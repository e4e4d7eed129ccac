import { randomBytes } from 'node:crypto'
import { link, lstat, open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CliError, usageError } from '../errors/errors.ts'
import { exit } from '../errors/exit.ts'

/** A file that gets its name when it is whole. */
export interface OutFile {
  /** What it is called until then. */
  readonly part: string
  /** Whether nothing was written. */
  readonly isEmpty: boolean
  write(text: string): Promise<void>
  /** Makes sure of its content and gives it its name. */
  commit(): Promise<void>
  /** Removes it, or with `keep` leaves it under the name it has until then. */
  abandon(keep: boolean): Promise<void>
}

/**
 * Begins a file that only its owner can read, beside where it will be. Throws a usage error where something has that
 * name, and an I/O error (exit 1) where no file can be made; both before anything is done.
 */
export async function openOutFile(path: string): Promise<OutFile> {
  if (path === '' || path === '-')
    throw usageError('--out takes the name of a file', 'for standard output leave it out')
  if (await exists(path))
    throw usageError(`--out: ${path} exists already`, 'choose another name, or remove it')
  const part = `${path}.${randomBytes(4).toString('hex')}.part`
  const local = async <T>(work: Promise<T>) =>
    work.catch((cause: Error) => {
      throw new CliError('io', exit.failure, `${path} cannot be written: ${cause.message}`, { cause })
    })
  const file = await local(open(part, 'wx', 0o600))
  let isEmpty = true
  return {
    part,
    get isEmpty() {
      return isEmpty
    },
    write: async text => {
      if (text === '') return
      isEmpty = false
      await local(file.writeFile(text))
    },
    commit: () =>
      local(
        (async () => {
          await file.sync()
          await file.close()
          await rest(part, path)
        })(),
      ),
    abandon: async keep => {
      await file.close().catch(() => {})
      if (!keep) await unlink(part).catch(() => {})
    },
  }
}

/** Gives a file its name, unless something has taken that in the meantime. */
async function rest(part: string, path: string): Promise<void> {
  try {
    await link(part, path)
    await unlink(part)
  } catch (error) {
    // Some file systems know no links.
    if (await exists(path)) throw error
    await rename(part, path)
  }
  // The name must outlast a power cut too; Windows cannot open a folder for that.
  const folder = await open(dirname(path), 'r').catch(() => null)
  await folder?.sync().catch(() => {})
  await folder?.close()
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  )
}
