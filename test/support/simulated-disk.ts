// A disk that loses power. It keeps what is flushed and nothing else: of a file its content, of a folder the names in it. A power
// cut makes from that what may be found afterwards; killing a process shows none of it, because the system still has what was
// not flushed. Several threads may record on one disk. The file imports nothing of the project's, so that it runs in a thread
// without the tests' compiler.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

/** A folder, and the one beside it (on the same file system) that keeps what of it is on the disk. */
export interface Disk {
  readonly folder: string
  readonly flushed: string
}

/** Names of which folders a power cut leaves: as they were last flushed, or as they are, as a journal that is ahead has them. */
export type Names = 'flushed' | 'all'

interface Entry {
  readonly name: string
  readonly inode: number
  readonly isFolder: boolean
}

const original = { openSync: fs.openSync, fsyncSync: fs.fsyncSync, writeFileSync: fs.writeFileSync }

/** Calls `work` with the path instead of each flush of this thread. Returns a function that ends that. */
export function interceptFlushes(work: (path: string) => void): () => void {
  const paths = new Map<number, string>()
  fs.openSync = (path, ...rest) => {
    const descriptor = original.openSync(path, ...rest)
    paths.set(descriptor, String(path))
    return descriptor
  }
  fs.fsyncSync = descriptor => work(paths.get(descriptor) ?? '')
  fs.writeFileSync = (path, data, options) => {
    const isFlushed = typeof options === 'object' && options?.flush
    original.writeFileSync(path, data, isFlushed ? { ...options, flush: false } : options)
    if (isFlushed) work(String(path))
  }
  syncBuiltinESMExports()
  return () => {
    Object.assign(fs, original)
    syncBuiltinESMExports()
  }
}

/** Flushes everything, as the system does by itself after a while. */
export function flushAll(disk: Disk): void {
  fs.rmSync(disk.flushed, { recursive: true, force: true })
  fs.mkdirSync(disk.flushed)
  const keepAll = (folder: string) => {
    flush(disk, folder)
    for (const { name, isFolder } of entriesOf(folder)) {
      if (isFolder) keepAll(join(folder, name))
      else flush(disk, join(folder, name))
    }
  }
  keepAll(disk.folder)
}

/** Makes the folder that is found in the place of a disk's folder after a power cut at this moment. */
export function cutPower({ folder, flushed }: Disk, names: Names, found: string): void {
  fs.mkdirSync(found, { mode: 0o700 })
  const known = join(flushed, String(fs.statSync(folder).ino))
  restore(known, folder, found)

  function restore(record: string, now: string, to: string): void {
    const entries = names === 'all' ? entriesOf(now) : entriesKept(record)
    for (const { name, inode, isFolder } of entries) {
      const content = join(flushed, String(inode))
      if (isFolder) {
        fs.mkdirSync(join(to, name), { mode: 0o700 })
        restore(content, join(now, name), join(to, name))
      } else if (fs.existsSync(content)) fs.copyFileSync(content, join(to, name))
      else fs.closeSync(original.openSync(join(to, name), 'w', 0o600))
    }
  }
}

/** Flushes a file or folder to a disk; without effect on what is elsewhere. */
export function flush({ folder, flushed }: Disk, path: string): void {
  if (!path.startsWith(folder)) return
  const stat = fs.statSync(path)
  const record = join(flushed, String(stat.ino))
  if (stat.isDirectory()) original.writeFileSync(`${record}.new`, JSON.stringify(entriesOf(path)))
  else fs.copyFileSync(path, `${record}.new`)
  fs.renameSync(`${record}.new`, record)
  // With a second name a file keeps its inode when it is removed; otherwise the next new file could be taken for it.
  if (stat.isFile() && !fs.existsSync(`${record}.held`)) fs.linkSync(path, `${record}.held`)
}

function entriesOf(folder: string): Entry[] {
  return fs
    .readdirSync(folder, { withFileTypes: true })
    .filter(entry => entry.isFile() || entry.isDirectory())
    .map(entry => ({
      name: entry.name,
      inode: fs.statSync(join(folder, entry.name)).ino,
      isFolder: entry.isDirectory(),
    }))
}

function entriesKept(record: string): Entry[] {
  return fs.existsSync(record) ? (JSON.parse(fs.readFileSync(record, 'utf8')) as Entry[]) : []
}
