import { sha256 } from './bytes.ts'

/** What sets the hashes of leaves and of nodes apart. */
const [leaf, node] = [Buffer.of(0), Buffer.of(1)]

/** The hash of a leaf: `SHA-256(0x00 || data)` (RFC 9162 section 2.1.1). */
export function leafHash(data: Buffer): Buffer {
  return sha256(Buffer.concat([leaf, data]))
}

function nodeHash(left: Buffer, right: Buffer): Buffer {
  return sha256(Buffer.concat([node, left, right]))
}

const hashBytes = 32

/**
 * A Merkle tree that grows at its end (RFC 9162 section 2.1), by the roots of its largest full subtrees from left to
 * right: all that is needed to add leaves, however many there are.
 */
export class MerkleTree {
  #size: number
  readonly #roots: Buffer[]

  /** An empty tree, or one with the size and the roots that `frontier` gave. Throws where they do not belong together. */
  constructor(size = 0, frontier: Buffer = Buffer.alloc(0)) {
    const count = size.toString(2).replaceAll('0', '').length
    if (frontier.length !== count * hashBytes) throw new RangeError(`no frontier of a tree of ${size} leaves`)
    this.#size = size
    this.#roots = Array.from({ length: count }, (_, index) =>
      frontier.subarray(index * hashBytes, (index + 1) * hashBytes),
    )
  }

  /** How many leaves there are. */
  get size(): number {
    return this.#size
  }

  /** Adds a leaf by its data. */
  append(data: Buffer): void {
    let hash = leafHash(data)
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2) {
      hash = nodeHash(this.#roots.pop() as Buffer, hash)
    }
    this.#roots.push(hash)
    this.#size += 1
  }

  /** The root of all leaves; of none, the SHA-256 of nothing. */
  get root(): Buffer {
    const last = this.#roots.at(-1)
    if (!last) return sha256('')
    return this.#roots.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last)
  }

  /** What a tree can be gone on with: 32 bytes for each 1 in the binary digits of its size. */
  get frontier(): Buffer {
    return Buffer.concat(this.#roots)
  }
}
