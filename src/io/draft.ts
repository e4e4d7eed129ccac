import { randomBytes } from 'node:crypto'
import { type FileHandle, link, mkdir, open, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** A new file that only its owner can read, under another name until it is whole. It stays open until its user closes it. */
export interface Draft {
  readonly file: FileHandle
  /** What it is called until then. */
  readonly part: string
  /**
   * Makes sure of its content and gives it its name, which outlives a power cut. Throws the system's error, `isTaken` where
   * something has that name; the file then keeps the name it has.
   */
  take(path: string): Promise<void>
  /** Removes it under the name it has until it is whole. */
  remove(): Promise<void>
}

/** Begins a file that a process of the same name may have left unfinished. Throws the system's error. */
export async function openDraft(part: string): Promise<Draft> {
  await rm(part, { force: true })
  const file = await open(part, 'ax', 0o600)
  const remove = () => rm(part, { force: true })
  return {
    file,
    part,
    take: async path => {
      await file.sync()
      await link(part, path)
      await remove()
      await syncFolder(dirname(path))
    },
    remove,
  }
}

/** Writes a new file: it is there whole, or not at all. Throws the system's error, `isTaken` where something has the name. */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const draft = await openDraft(partOf(path))
  try {
    await draft.file.writeFile(content)
    await draft.take(path)
  } finally {
    await draft.file.close()
    await draft.remove()
  }
}

/** A name beside a file's for it to have until it is whole, which nobody else thinks of. */
export function partOf(path: string): string {
  return `${path}.${randomBytes(4).toString('hex')}.part`
}

/** Whether it is why a file cannot have its name that something has that already. */
export function isTaken(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'EEXIST'
}

/** Makes a folder that only its owner can look into, with all above it; their names outlive a power cut. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  const highest = dirname(resolve(first))
  for (let folder = resolve(path); folder !== highest; ) {
    folder = dirname(folder)
    await syncFolder(folder)
  }
}

/** So that a new name outlives a power cut, where a folder can be synchronised: on Windows it cannot. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => null)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
