import { lstat, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CliError, exit, usageError } from '../errors/errors.ts'
import { type Draft, openDraft, partOf, syncFolder } from './draft.ts'

/** A file that gets its name when it is whole. */
export interface OutFile {
  /** What it is called until then. */
  readonly part: string
  /** Whether nothing was written. */
  readonly isEmpty: boolean
  write(content: string | Uint8Array): Promise<void>
  /** Makes sure of its content and gives it its name. */
  commit(): Promise<void>
  /** Removes it, or with `keep` leaves it under the name it has until then. */
  abandon(keep: boolean): Promise<void>
}

/**
 * Begins a file that only its owner can read, beside where it will be. Throws a usage error where something has that
 * name, and an I/O error (exit 1) where no file can be made; both before anything is done.
 */
export async function openOutFile(path: string, flag = '--out'): Promise<OutFile> {
  if (path === '' || path === '-')
    throw usageError(`${flag} takes the name of a file`, 'for standard output leave it out')
  if (await exists(path))
    throw usageError(`${flag}: ${path} exists already`, 'choose another name, or remove it')
  const local = async <T>(work: Promise<T>) =>
    work.catch((cause: Error) => {
      throw new CliError('io', exit.failure, `${path} cannot be written: ${cause.message}`, { cause })
    })
  const draft = await local(openDraft(partOf(path)))
  let isEmpty = true
  return {
    part: draft.part,
    get isEmpty() {
      return isEmpty
    },
    write: async content => {
      if (content.length === 0) return
      isEmpty = false
      await local(draft.file.writeFile(content))
    },
    commit: () => local(take(draft, path)),
    abandon: async keep => {
      await draft.file.close().catch(() => {})
      if (!keep) await draft.remove().catch(() => {})
    },
  }
}

async function take(draft: Draft, path: string): Promise<void> {
  try {
    await draft.take(path)
  } catch (error) {
    // Some file systems know no links.
    if ((error as NodeJS.ErrnoException).syscall !== 'link' || (await exists(path))) throw error
    await rename(draft.part, path)
    await syncFolder(dirname(path))
  }
  await draft.file.close()
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  )
}
