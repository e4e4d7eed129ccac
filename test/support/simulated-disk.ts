// A disk that loses power. It gets each operation on the files below a folder, and builds what a power cut may leave of
// them: what was flushed is there; of the rest any part may be, in any order, in pieces of a page or a sector.
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

/** Paths are relative to the folder, which is `.` itself; `file` is a number for each time that a file was opened. */
export type Operation =
  | { readonly kind: 'open'; readonly file: number; readonly path: string }
  | { readonly kind: 'write'; readonly file: number; readonly position: number; readonly data: Uint8Array }
  | { readonly kind: 'truncate'; readonly file: number; readonly size: number }
  | { readonly kind: 'flush'; readonly file: number }
  | { readonly kind: 'mkdir'; readonly path: string }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'rename'; readonly path: string; readonly to: string }

/** What of the unflushed a power cut leaves. */
export interface Cut {
  /**
   * Which names are as they were made, in order: those before some moment, as a journal has them (ext4, xfs), or for each
   * folder those before some moment (btrfs). A flushed file has its name, and a flushed folder has its names.
   */
  readonly names: 'journal' | 'folders' | 'all'
  /** `files`: all or nothing of each file; `prefix`: what was written before some moment; else any version of each piece. */
  readonly data: 'all' | 'none' | 'files' | 'prefix' | 'pages' | 'sectors'
}

export function randomCut(random: () => number): Cut {
  const data = (['none', 'all', 'files', 'prefix', 'pages', 'pages', 'sectors', 'sectors'] as const)[pick(random, 8)]
  return { names: random() < 0.5 ? 'journal' : 'folders', data: data ?? 'none' }
}

/** What the system has after a process was killed: everything. */
export const kill: Cut = { names: 'all', data: 'all' }

const page = 4096
const sector = 512

type Change = { readonly order: number } & (
  | { readonly position: number; readonly data: Uint8Array }
  | { readonly size: number }
)

interface Node {
  readonly isFolder: boolean
  /** Content on the disk, and the changes since. */
  flushed: Buffer
  changes: Change[]
  /** Of a folder, as a running program sees it. */
  readonly names: Map<string, Node>
}

/** Names that change together, to other files or to none. */
interface Naming {
  readonly order: number
  readonly changes: readonly { readonly folder: Node; readonly name: string; readonly node: Node | null }[]
  isFlushed: boolean
}

export class SimulatedDisk {
  readonly #root = newNode(true)
  /** Names as they are on the disk at least. */
  readonly #flushedNames = new Map<Node, Map<string, Node>>()
  #namings: Naming[] = []
  readonly #files = new Map<number, Node>()
  #order = 0
  #lastFlush = 0

  /** A disk that holds the files of a folder. */
  static load(folder: string): SimulatedDisk {
    const disk = new SimulatedDisk()
    const load = (path: string, node: Node) => {
      for (const entry of readdirSync(path, { withFileTypes: true })) {
        const child = newNode(entry.isDirectory())
        if (entry.isDirectory()) load(join(path, entry.name), child)
        else if (entry.isFile()) child.flushed = readFileSync(join(path, entry.name))
        else continue // a socket
        node.names.set(entry.name, child)
      }
      disk.#flushedNames.set(node, new Map(node.names))
    }
    load(folder, disk.#root)
    return disk
  }

  apply(operation: Operation): void {
    this.#order += 1
    if (operation.kind === 'open') this.#open(operation.file, operation.path)
    else if (operation.kind === 'mkdir') this.#name([[operation.path, newNode(true)]])
    else if (operation.kind === 'remove') this.#name([[operation.path, null]])
    else if (operation.kind === 'rename') {
      this.#name([
        [operation.path, null],
        [operation.to, this.#find(operation.path) ?? null],
      ])
    } else this.#change(operation)
  }

  /** Makes the folder that is found after a power cut at this moment. */
  build(to: string, { names, data }: Cut, random: () => number): void {
    const tree = this.#namesAfter(names, random)
    const prefix = between(random() < 0.5 ? this.#lastFlush : 0, this.#order, random)
    const newest = [0.02, 0.5, 0.9, 0.99][pick(random, 4)] as number
    const contentOf = (node: Node): Buffer => {
      const { changes } = node
      if (changes.length === 0 || data === 'none') return node.flushed
      if (data === 'all') return applyAll(node.flushed, changes)
      if (data === 'files') return random() < 0.5 ? node.flushed : applyAll(node.flushed, changes)
      if (data === 'prefix')
        return applyAll(
          node.flushed,
          changes.filter(({ order }) => order <= prefix),
        )
      return mix(node.flushed, changes, { piece: data === 'pages' ? page : sector, newest, random })
    }
    const place = (node: Node, path: string) => {
      mkdirSync(path, { recursive: true, mode: 0o700 })
      for (const [name, child] of tree.get(node) ?? []) {
        if (child.isFolder) place(child, join(path, name))
        else writeWhole(join(path, name), contentOf(child))
      }
    }
    place(this.#root, to)
  }

  #namesAfter(which: Cut['names'], random: () => number): Map<Node, Map<string, Node>> {
    const tree = new Map([...this.#flushedNames].map(([folder, names]) => [folder, new Map(names)]))
    const journal = which === 'all' ? Number.POSITIVE_INFINITY : between(this.#lastFlush, this.#order, random)
    const ends = new Map<Node, number>()
    const endOf = (folder: Node): number => {
      const end = ends.get(folder) ?? [0, this.#order, between(0, this.#order, random)][pick(random, 3)] ?? 0
      ends.set(folder, end)
      return end
    }
    for (const { order, isFlushed, changes } of this.#namings) {
      const folder = changes.at(-1)?.folder as Node
      if (which === 'folders' ? isFlushed || order <= endOf(folder) : order <= journal) applyNames(tree, changes)
    }
    return tree
  }

  #open(file: number, path: string): void {
    const existing = this.#find(path)
    const node = existing ?? newNode(false)
    if (!existing) this.#name([[path, node]])
    this.#files.set(file, node)
  }

  #change(operation: Extract<Operation, { file: number }>): void {
    const node = this.#files.get(operation.file)
    if (!node) throw new Error(`file ${operation.file} was never opened`)
    if (operation.kind === 'flush') this.#flush(node)
    else if (operation.kind !== 'open') node.changes.push({ order: this.#order, ...operation })
  }

  #find(path: string): Node | undefined {
    if (path === '.') return this.#root
    return this.#find(dirname(path))?.names.get(posix.basename(path))
  }

  #name(changes: readonly (readonly [path: string, node: Node | null])[]): void {
    const made = changes.map(([path, node]) => {
      const folder = this.#find(dirname(path))
      if (!folder) throw new Error(`${path} is in no folder`)
      const name = posix.basename(path)
      if (node) folder.names.set(name, node)
      else folder.names.delete(name)
      return { folder, name, node }
    })
    this.#namings.push({ order: this.#order, changes: made, isFlushed: false })
  }

  #flush(node: Node): void {
    this.#lastFlush = this.#order
    node.flushed = applyAll(node.flushed, node.changes, true)
    node.changes = []
    for (const naming of this.#namings) {
      if (naming.changes.some(change => change.folder === node || change.node === node)) naming.isFlushed = true
    }
    // The oldest ones are safely on the disk as soon as none before them can be missing.
    const end = this.#namings.findIndex(({ isFlushed }) => !isFlushed)
    const kept = end < 0 ? this.#namings.splice(0) : this.#namings.splice(0, end)
    for (const { changes } of kept) applyNames(this.#flushedNames, changes)
  }
}

function newNode(isFolder: boolean): Node {
  return { isFolder, flushed: Buffer.alloc(0), changes: [], names: new Map() }
}

function applyNames(tree: Map<Node, Map<string, Node>>, changes: Naming['changes']): void {
  for (const { folder, name, node } of changes) {
    const names = tree.get(folder) ?? new Map<string, Node>()
    tree.set(folder, names)
    if (node) names.set(name, node)
    else names.delete(name)
  }
}

function applyAll(content: Buffer, changes: readonly Change[], isOwned = false): Buffer {
  let now = isOwned ? content : Buffer.from(content)
  for (const change of changes) now = apply(now, change)
  return now
}

/** Changes the content itself, or a larger copy. */
function apply(content: Buffer, change: Change): Buffer {
  if ('size' in change) return resize(content, change.size)
  const grown = resize(content, Math.max(content.length, change.position + change.data.length))
  grown.set(change.data, change.position)
  return grown
}

function resize(content: Buffer, size: number): Buffer {
  if (size <= content.length) return content.subarray(0, size)
  const grown = Buffer.alloc(size)
  content.copy(grown)
  return grown
}

interface Mixing {
  readonly piece: number
  /** The probability that a page is as it was written last. */
  readonly newest: number
  readonly random: () => number
}

/**
 * Any version of each page that has changed, or pieces of two versions, in a file of any size that it had. What was written
 * after a truncation is on the disk only if the truncation is.
 */
function mix(flushed: Buffer, changes: readonly Change[], mixing: Mixing): Buffer {
  const truncations = changes.flatMap((change, index) => ('size' in change ? [index] : []))
  const kept = pick(mixing.random, truncations.length + 1)
  const start = kept === 0 ? 0 : (truncations[kept - 1] as number) + 1
  const base = applyAll(flushed, changes.slice(0, start))
  return mixWrites(base, changes.slice(start, truncations[kept] ?? changes.length), mixing)
}

function mixWrites(base: Buffer, writes: readonly Change[], { piece, newest, random }: Mixing): Buffer {
  const versions = new Map<number, Buffer[]>()
  const sizes = [base.length]
  for (const write of writes) {
    if ('size' in write) continue
    const end = write.position + write.data.length
    for (let number = Math.floor(write.position / page); number * page < end; number += 1) {
      const start = number * page
      const before = versions.get(number) ?? [resize(Buffer.from(base.subarray(start, start + page)), page)]
      const from = Math.max(write.position, start)
      const after = Buffer.from(before.at(-1) as Buffer)
      after.set(write.data.subarray(from - write.position, Math.min(end, start + page) - write.position), from - start)
      versions.set(number, before)
      before.push(after)
    }
    sizes.push(Math.max(sizes.at(-1) ?? 0, end))
  }
  const size = random() < newest ? (sizes.at(-1) as number) : (sizes[pick(random, sizes.length)] as number)
  const content = resize(Buffer.from(base), Math.max(size, base.length))
  for (const [number, own] of versions) {
    const last = random() < newest ? own.length - 1 : pick(random, own.length)
    const other = piece === page || random() < 0.5 ? last : pick(random, last + 1)
    for (let at = 0; at < page; at += piece) {
      const from = own[random() < 0.5 ? last : other] as Buffer
      if (number * page + at < content.length) from.copy(content, number * page + at, at, at + piece)
    }
  }
  return content
}

function writeWhole(path: string, content: Buffer): void {
  const file = openSync(path, 'w', 0o600)
  for (let done = 0; done < content.length; ) done += writeSync(file, content, done)
  closeSync(file)
}

function pick(random: () => number, count: number): number {
  return Math.floor(random() * count)
}

function between(from: number, to: number, random: () => number): number {
  return from + pick(random, to - from + 1)
}
