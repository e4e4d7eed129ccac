import { randomBytes } from 'node:crypto'
import { type FileHandle, link, lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { CliError, exit, settingsError, usageError } from '../errors/errors.ts'

const ownersOnly = 0o600

/** Private by default, with a temporary name until complete. The caller closes `file`. */
interface Draft {
  readonly file: FileHandle
  readonly part: string
  /** Flushes and renames durably. @throws the system's error; `isTaken` if the path exists */
  take(path: string): Promise<void>
  /** Like `take`, but replaces an existing file. */
  replace(path: string): Promise<void>
  remove(): Promise<void>
}

/** Replaces a draft that a killed process left. @throws the system's error */
export async function openDraft(part: string, mode: number = ownersOnly): Promise<Draft> {
  await rm(part, { force: true })
  const file = await open(part, 'ax', mode)
  const remove = () => rm(part, { force: true })
  return {
    file,
    part,
    take: async path => {
      await file.sync()
      await giveName(part, path)
      await remove()
      await syncFolder(dirname(path))
    },
    replace: async path => {
      await file.sync()
      await rename(part, path)
      await syncFolder(dirname(path))
    },
    remove,
  }
}

/** Never replaces a file, except in a race without hard links. */
async function giveName(part: string, path: string): Promise<void> {
  try {
    await link(part, path)
  } catch (error) {
    if (isTaken(error) || (await lstat(path).catch(() => null))) throw error
    await rename(part, path)
  }
}

export function partOf(path: string): string {
  return `${path}.${randomBytes(4).toString('hex')}.part`
}

export function isTaken(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'EEXIST'
}

/** Durable with its parents; only the owner can read it. @throws CliError settings */
export async function makeFolder(path: string): Promise<void> {
  await makeEach(resolve(path)).catch((error: NodeJS.ErrnoException) => {
    if (!/^(ENOENT|ENOTDIR|EACCES|EPERM|EROFS)$/.test(String(error.code))) throw error
    const hint = 'set CONSENTCTL_CONFIG_DIR and CONSENTCTL_STATE_DIR, or HOME, to folders that can be made'
    throw settingsError(`cannot make the folder ${path}: ${error.code}`, hint)
  })
}

/** With `recursive`, Node never ends below a folder such as /proc. */
async function makeEach(folder: string, hasParent = false): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return
    if (code !== 'ENOENT' || hasParent) throw error
    await makeEach(dirname(folder))
    return await makeEach(folder, true)
  }
  await syncFolder(dirname(folder))
}

/** Windows cannot flush a folder's entries. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => null)
  await handle?.sync().catch(() => {})
  await handle?.close()
}

export interface OutFile {
  readonly part: string
  readonly isEmpty: boolean
  write(content: string | Uint8Array): Promise<void>
  commit(): Promise<void>
  abandon(keep: boolean): Promise<void>
}

/**
 * The file gets its name on `commit`; with `replaces`, atomically over an existing one.
 *
 * @throws CliError: usage if the path is taken, io (exit 1) if no file can be created
 */
export async function openOutFile(
  path: string,
  flag = '--out',
  replaces = false,
  mode: number = ownersOnly,
): Promise<OutFile> {
  if (path === '' || path === '-') throw usageError(`${flag} must name a file`, 'for standard output leave it out')
  await requireFree(path, flag, replaces)
  const local = async <T>(work: Promise<T>) =>
    work.catch((cause: Error) => {
      throw new CliError('io', exit.failure, `${path} cannot be written: ${cause.message}`, { cause })
    })
  const draft = await local(openDraft(partOf(path), mode))
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
    commit: async () => {
      await local(replaces ? draft.replace(path) : draft.take(path))
      await draft.file.close()
    },
    abandon: async keep => {
      await draft.file.close().catch(() => {})
      if (!keep) await draft.remove().catch(() => {})
    },
  }
}

/** @throws CliError usage if the path is taken */
export async function requireFree(path: string, flag: string, replaces = false): Promise<void> {
  const found = await lstat(path).catch(() => null)
  if (!found || (replaces && found.isFile())) return
  if (replaces)
    throw usageError(`${flag}: ${path} is not a regular file and cannot be overwritten`, 'choose another name')
  const overwrite = flag === '--out' ? ', or overwrite it with --force' : ', or remove it'
  throw usageError(`${flag}: ${path} already exists`, `choose another name${overwrite}`)
}
