import { lstat, mkdir, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CliError, exit, usageError } from '../../errors/errors.ts'
import type { PackFiles } from '../../evidence/pack.ts'
import { openOutFile, partOf, syncFolder } from '../../io/new-file.ts'

export interface Target {
  /** `prefix`: '', or a folder name with a slash. */
  add(prefix: string, files: PackFiles): Promise<void>
  commit(): Promise<void>
  abandon(): Promise<void>
}

/** @throws CliError (usage) if the path exists, or `io` (exit 1) */
export async function openTarget(path: string): Promise<Target> {
  if (path === '' || path === '-') throw usageError('--out must name a folder or a .tar file')
  return path.endsWith('.tar') ? await openArchive(path) : await openFolder(path.replace(/(?<=.)\/+$/, ''))
}

/** Takes one file, whose name is not used. @throws CliError like `openTarget` */
export async function openFile(path: string): Promise<Target> {
  const file = await openOutFile(path)
  let isOpen = true
  return {
    add: async (_, files) => {
      for (const bytes of files.values()) await file.write(bytes)
    },
    commit: async () => {
      await file.commit()
      isOpen = false
    },
    abandon: async () => {
      if (isOpen) await file.abandon(false)
    },
  }
}

/** Every name of a pack must fit the 100 bytes of a tar header. */
const archiveFolder = 'case/'

async function openArchive(path: string): Promise<Target> {
  const archive = await openFile(path)
  const entries: { name: string; data: Uint8Array }[] = []
  return {
    ...archive,
    add: async (prefix, files) => {
      for (const [name, data] of files) entries.push({ name: archiveFolder + prefix + name, data })
    },
    commit: async () => {
      const { createTar } = await import('nanotar')
      const bytes = createTar(entries, { attrs: { mode: '600', uid: 0, gid: 0 } })
      await archive.add('', new Map([[path, Buffer.from(bytes)]]))
      await archive.commit()
    },
  }
}

async function openFolder(path: string): Promise<Target> {
  await requireEmpty(path)
  const part = partOf(path)
  await local(path, mkdir(part, { mode: 0o700 }))
  return {
    add: async (prefix, files) => {
      for (const [name, bytes] of files) {
        const file = join(part, prefix, name)
        await local(path, mkdir(dirname(file), { recursive: true, mode: 0o700 }))
        await local(path, writeFile(file, bytes, { mode: 0o600, flag: 'wx', flush: true }))
      }
    },
    commit: async () => {
      await rmdir(path).catch(() => {}) // fails unless empty
      await local(path, rename(part, path))
      await syncFolder(dirname(path))
    },
    abandon: () => rm(part, { recursive: true, force: true }),
  }
}

async function requireEmpty(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null)
  if (!found) return
  const isEmpty = found.isDirectory() && (await local(path, readdir(path))).length === 0
  if (!isEmpty) throw usageError(`--out: ${path} already exists`, 'choose another name')
}

async function local<T>(path: string, work: Promise<T>): Promise<T> {
  return await work.catch((cause: Error) => {
    throw new CliError('io', exit.failure, `${path} cannot be written: ${cause.message}`, { cause })
  })
}
