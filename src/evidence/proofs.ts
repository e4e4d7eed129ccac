import { sha256 } from './bytes.ts'
import { leafHash, nodeHash } from './merkle.ts'

export interface Inclusion {
  readonly leafHash: Buffer
  readonly index: number
  readonly size: number
  readonly path: readonly Buffer[]
}

/** Null if the path has the wrong length (RFC 9162 section 2.1.3.2). */
export function rootOfInclusion({ leafHash, index, size, path }: Inclusion): Buffer | null {
  if (index >= size) return null
  const walk = new Walk(index, size - 1)
  let root = leafHash
  for (const node of path) {
    if (walk.isDone) return null
    root = walk.passesLeft() ? nodeHash(node, root) : nodeHash(root, node)
  }
  return walk.isDone ? root : null
}

/** The tree of the checkpoint has the entry with this hash at the leaf. */
export function isIncluded(
  hash: Buffer,
  { leaf_index: index, path }: { readonly leaf_index: number; readonly path: readonly string[] },
  { tree_size: size, root_hash }: { readonly tree_size: number; readonly root_hash: string },
): boolean {
  const root = rootOfInclusion({ leafHash: leafHash(hash), index, size, path: toBytes(path) })
  return root?.toString('hex') === root_hash
}

export interface Consistency {
  readonly first: { readonly size: number; readonly root: Buffer }
  readonly second: { readonly size: number; readonly root: Buffer }
  readonly path: readonly Buffer[]
}

/** The second tree begins with the first one's leaves (RFC 9162 section 2.1.4.2). */
export function isConsistent({ first, second, path }: Consistency): boolean {
  if (first.size < 1 || first.size > second.size) return false
  if (first.size === second.size) return path.length === 0 && first.root.equals(second.root)
  const isFull = 2 ** Math.floor(Math.log2(first.size)) === first.size
  const [start, ...nodes] = isFull ? [first.root, ...path] : path
  if (!start) return false
  const walk = new Walk(first.size - 1, second.size - 1)
  walk.skipRight()
  let [one, other] = [start, start]
  for (const node of nodes) {
    if (walk.isDone) return false
    const isLeft = walk.passesLeft()
    if (isLeft) one = nodeHash(node, one)
    other = isLeft ? nodeHash(node, other) : nodeHash(other, node)
  }
  return walk.isDone && one.equals(first.root) && other.equals(second.root)
}

/** `fn` and `sn` in RFC 9162. */
class Walk {
  #node: number
  #last: number

  constructor(node: number, last: number) {
    this.#node = node
    this.#last = last
  }

  get isDone(): boolean {
    return this.#last === 0
  }

  /** Skips levels on which the node is a right child. */
  skipRight(): void {
    while (this.#node % 2 === 1) this.#ascend()
  }

  /** True if the next node is on the left. */
  passesLeft(): boolean {
    const isLeft = this.#node % 2 === 1 || this.#node === this.#last
    if (isLeft) while (this.#node % 2 === 0 && this.#node !== 0) this.#ascend() // the last node has no sibling
    this.#ascend()
    return isLeft
  }

  #ascend(): void {
    this.#node = Math.floor(this.#node / 2)
    this.#last = Math.floor(this.#last / 2)
  }
}

export function toBytes(path: readonly string[] = []): Buffer[] {
  return path.map(node => Buffer.from(node, 'hex'))
}

/** The time stamp has the text's SHA-256 (RFC 3161, `messageImprint`). Verifies no signature. */
export function isStampOf(stamp: Buffer, text: Buffer): boolean {
  return stamp.includes(sha256(text))
}

export interface Range {
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

/** Subtrees of an inclusion proof, in order (RFC 9162 section 2.1.3.1). */
export function inclusionRanges(index: number, size: number): Range[] {
  const ranges: Range[] = []
  let [from, to] = [0, size]
  while (to - from > 1) {
    const middle = from + leftWidth(to - from)
    ranges.unshift(index < middle ? { from: middle, to } : { from, to: middle })
    if (index < middle) to = middle
    else from = middle
  }
  return ranges
}

/** Subtrees of a consistency proof, in order (RFC 9162 section 2.1.4.1). */
export function consistencyRanges(first: number, second: number): Range[] {
  const ranges: Range[] = []
  let [from, to] = [0, second]
  while (to > first) {
    const middle = from + leftWidth(to - from)
    ranges.unshift(first <= middle ? { from: middle, to } : { from, to: middle })
    if (first <= middle) to = middle
    else from = middle
  }
  return from === 0 || from === to ? ranges : [{ from, to }, ...ranges]
}

/** The largest power of two below `size`, which is above 1. */
function leftWidth(size: number): number {
  let width = 1
  while (width * 2 < size) width *= 2
  return width
}
