import { Preimage, sha256 } from './bytes.ts'

const preimage = new Preimage()

/** `SHA-256(0x00 || data)` (RFC 9162 section 2.1.1). */
export function leafHash(data: Buffer): Buffer {
  return preimage.start().uint8(0).bytes(data).sha256()
}

export function nodeHash(left: Buffer, right: Buffer): Buffer {
  return preimage.start().uint8(1).bytes(left).bytes(right).sha256()
}

const hashBytes = 32

/** Leaves of a full tile (C2SP tlog-tiles). */
export const tileWidth = 256

/** Append-only Merkle tree (RFC 9162 section 2.1), by the roots of its largest full subtrees, left to right. */
export class MerkleTree {
  #size: number
  readonly #roots: Buffer[]

  /** @throws RangeError if `frontier` does not fit the size */
  constructor(size = 0, frontier: Buffer = Buffer.alloc(0)) {
    const count = size.toString(2).replaceAll('0', '').length
    if (frontier.length !== count * hashBytes)
      throw new RangeError(`the frontier does not fit a tree of ${size} leaves`)
    this.#size = size
    this.#roots = Array.from({ length: count }, (_, index) =>
      frontier.subarray(index * hashBytes, (index + 1) * hashBytes),
    )
  }

  get size(): number {
    return this.#size
  }

  /** Returns the root of the tile that this leaf completes, or null. */
  append(data: Buffer): Buffer | null {
    return this.#append(leafHash(data), 1)
  }

  /** Appends a full tile by its root. @throws RangeError in the middle of a tile */
  appendTile(root: Buffer): void {
    if (this.#size % tileWidth !== 0) throw new RangeError(`a tree of ${this.#size} leaves ends within a tile`)
    this.#append(root, tileWidth)
  }

  #append(subtree: Buffer, leaves: number): Buffer | null {
    let [hash, width, tile]: [Buffer, number, Buffer | null] = [subtree, leaves, null]
    for (let size = this.#size / leaves; size % 2 === 1; size = (size - 1) / 2) {
      hash = nodeHash(this.#roots.pop() as Buffer, hash)
      width *= 2
      if (width === tileWidth) tile = hash
    }
    this.#roots.push(hash)
    this.#size += leaves
    return tile
  }

  get root(): Buffer {
    const last = this.#roots.at(-1)
    if (!last) return sha256('')
    return this.#roots.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last)
  }

  /** 32 bytes for each 1 in the binary size. */
  get frontier(): Buffer {
    return Buffer.concat(this.#roots)
  }
}
