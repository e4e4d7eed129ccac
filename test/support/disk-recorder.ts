// Records what this thread does to the files below a folder, by Node's own functions in `node:fs`.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join, relative, sep } from 'node:path'
import type { Operation } from './simulated-disk.ts'

let files = 0

/** Calls `onOperation` after each operation. Returns a function that ends the recording. */
export function recordDisk(root: string, onOperation: (operation: Operation) => void): () => void {
  const original = { ...fs }
  const open = new Map<number, number>()
  const inside = (path: fs.PathLike): string | null => {
    const found = relative(root, String(path)).split(sep).join('/')
    return found.startsWith('..') ? null : found || '.'
  }
  /** Tells of a file's operation if the file is recorded. */
  const tell = (descriptor: number, make: (file: number) => Operation) => {
    const file = open.get(descriptor)
    if (file !== undefined) onOperation(make(file))
  }
  const named = (kind: 'mkdir' | 'remove', path: fs.PathLike) => {
    const found = inside(path)
    if (found !== null) onOperation({ kind, path: found })
  }
  /** A file's paths before it, as they are removed. */
  const tree = (path: string): string[] => {
    const stat = original.lstatSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory()) return [...original.readdirSync(path).flatMap(name => tree(join(path, name))), path]
    return stat?.isFile() ? [path] : []
  }

  const replaced = {
    openSync: (path: fs.PathLike, ...rest: [flags?: fs.OpenMode, mode?: fs.Mode | null]) => {
      const size = original.statSync(path, { throwIfNoEntry: false })?.size ?? 0
      const descriptor = original.openSync(path, ...(rest as [fs.OpenMode]))
      const found = inside(path)
      if (found === null) return descriptor
      files += 1
      const file = files
      open.set(descriptor, file)
      onOperation({ kind: 'open', file, path: found })
      if (size > 0 && original.fstatSync(descriptor).size === 0) onOperation({ kind: 'truncate', file, size: 0 })
      return descriptor
    },
    closeSync: (descriptor: number) => {
      original.closeSync(descriptor)
      open.delete(descriptor)
    },
    writeSync: (descriptor: number, buffer: Uint8Array, offset: number, length: number, position: number) => {
      const written = original.writeSync(descriptor, buffer, offset, length, position)
      // A copy, because the program writes something else to its memory next.
      tell(descriptor, file => ({ kind: 'write', file, position, data: buffer.slice(offset, offset + written) }))
      return written
    },
    ftruncateSync: (descriptor: number, size = 0) => {
      original.ftruncateSync(descriptor, size)
      tell(descriptor, file => ({ kind: 'truncate', file, size: size ?? 0 }))
    },
    truncateSync: (path: fs.PathLike, size?: number) => {
      const descriptor = fs.openSync(path, 'r+')
      fs.ftruncateSync(descriptor, size)
      fs.closeSync(descriptor)
    },
    fsyncSync: (descriptor: number) => {
      original.fsyncSync(descriptor)
      tell(descriptor, file => ({ kind: 'flush', file }))
    },
    writeFileSync: (path: fs.PathLike, data: string | Uint8Array, options?: fs.WriteFileOptions) => {
      if (inside(path) === null) return original.writeFileSync(path, data, options)
      const { mode, flush } = typeof options === 'object' ? (options ?? {}) : {}
      const descriptor = fs.openSync(path, 'w', mode ?? 0o666)
      const bytes = Uint8Array.from(Buffer.from(data as Uint8Array))
      fs.writeSync(descriptor, bytes, 0, bytes.length, 0)
      if (flush) fs.fsyncSync(descriptor)
      fs.closeSync(descriptor)
    },
    mkdirSync: (path: fs.PathLike, options?: fs.MakeDirectoryOptions) => {
      original.mkdirSync(path, options)
      named('mkdir', path)
    },
    renameSync: (from: fs.PathLike, to: fs.PathLike) => {
      original.renameSync(from, to)
      const [path, target] = [inside(from), inside(to)]
      if (path !== null && target !== null) onOperation({ kind: 'rename', path, to: target })
    },
    unlinkSync: (path: fs.PathLike) => {
      const [found] = tree(String(path))
      original.unlinkSync(path)
      if (found !== undefined) named('remove', found)
    },
    rmdirSync: (path: fs.PathLike) => {
      original.rmdirSync(path)
      named('remove', path)
    },
    // Name by name, because some versions of Node.js do so by the functions above, and others not.
    rmSync: (path: fs.PathLike, options?: fs.RmOptions) => {
      for (const each of inside(path) === null ? [] : tree(String(path))) {
        if (original.lstatSync(each).isDirectory()) fs.rmdirSync(each)
        else fs.unlinkSync(each)
      }
      original.rmSync(path, options)
    },
  }
  Object.assign(fs, replaced)
  syncBuiltinESMExports()
  return () => {
    for (const name of Object.keys(replaced) as (keyof typeof replaced)[]) Object.assign(fs, { [name]: original[name] })
    syncBuiltinESMExports()
  }
}
