import { hash, randomFillSync } from 'node:crypto'

/**
 * SHA-256 (FIPS 180-4) of bytes, or of text in UTF-8. `hash` returns a string, because allocating its Buffer takes four
 * times as long.
 */
export function sha256(data: Buffer | string): Buffer {
  return Buffer.from(hash('sha256', data, 'binary'), 'latin1')
}

/** One reused buffer: a Buffer per part would take longer than the hash. */
export class Preimage {
  #bytes = Buffer.allocUnsafe(1024)
  #length = 0

  start(): this {
    this.#length = 0
    return this
  }

  bytes(part: Buffer): this {
    this.#reserve(part.length)
    this.#bytes.set(part, this.#length)
    this.#length += part.length
    return this
  }

  text(text: string): this {
    this.#reserve(3 * text.length) // at most 3 bytes per UTF-16 code unit
    this.#length += this.#bytes.write(text, this.#length)
    return this
  }

  id(id: string): this {
    this.#reserve(id.length)
    this.#length += this.#bytes.write(id.replaceAll('-', ''), this.#length, 'hex')
    return this
  }

  /** Modulo 256. */
  uint8(value: number): this {
    this.#reserve(1)
    this.#bytes[this.#length] = value
    this.#length += 1
    return this
  }

  uint32(value: number): this {
    this.#reserve(4)
    this.#length = this.#bytes.writeUInt32BE(value, this.#length)
    return this
  }

  int64(value: bigint): this {
    this.#reserve(8)
    this.#length = this.#bytes.writeBigInt64BE(value, this.#length)
    return this
  }

  sha256(): Buffer {
    return sha256(this.#bytes.subarray(0, this.#length))
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(2 * needed)
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

/** 32 hexadecimal digits to a UUID. */
export function idOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

export function idBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

const pool = Buffer.alloc(4096)
let used = pool.length

/** Up to 4096, from a pool: a call of the generator takes longer than a hash. */
export function pooledBytes(length: number): Buffer {
  if (used + length > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += length
  return Buffer.from(pool.subarray(used - length, used))
}
