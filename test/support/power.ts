// A disk that loses power. Nothing is recorded but what is flushed: a flush of a file keeps its content, a flush of a folder the
// names in it. From that, a power cut makes what a disk may hold afterwards; killing a process shows none of it, because the
// system still has what was not flushed. Threads record on the same disk, and the file has no imports of the project's own, so
// that it runs in a thread without the tests' compiler.
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

/**
 * Has this thread's flushes below a disk's folder recorded instead of done; `onFlush` is called after each with how many there
 * were. Returns what ends it.
 */
export function recordFlushes(disk: Disk, onFlush: (count: number) => void = () => {}): () => void {
  const paths = new Map<number, string>()
  let count = 0
  const record = (path: string) => {
    keep(disk, path)
    count += 1
    onFlush(count)
  }
  const isRecorded = (path: string | undefined): path is string => path?.startsWith(disk.folder) ?? false
  fs.openSync = (path, ...rest) => {
    const descriptor = original.openSync(path, ...rest)
    paths.set(descriptor, String(path))
    return descriptor
  }
  fs.fsyncSync = descriptor => {
    const path = paths.get(descriptor)
    if (isRecorded(path)) record(path)
    else original.fsyncSync(descriptor)
  }
  fs.writeFileSync = (path, data, options) => {
    const flush = typeof options === 'object' && options?.flush && isRecorded(String(path))
    original.writeFileSync(path, data, flush ? { ...options, flush: false } : options)
    if (flush) record(String(path))
  }
  syncBuiltinESMExports()
  return () => {
    Object.assign(fs, original)
    syncBuiltinESMExports()
  }
}

/** Has everything on the disk as it is, as the system does by itself after a while. */
export function settle(disk: Disk): void {
  fs.rmSync(disk.flushed, { recursive: true, force: true })
  fs.mkdirSync(disk.flushed)
  const keepAll = (folder: string) => {
    keep(disk, folder)
    for (const { name, isFolder } of entriesOf(folder)) {
      if (isFolder) keepAll(join(folder, name))
      else keep(disk, join(folder, name))
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

function keep({ flushed }: Disk, path: string): void {
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
