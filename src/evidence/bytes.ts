import { hash, randomFillSync } from 'node:crypto'

/**
 * SHA-256 (FIPS 180-4) of bytes, or of text in UTF-8: 32 bytes. By way of a string, for each Buffer that the library makes is an
 * allocation of its own: that takes four times as long, and the garbage collector longer still.
 */
export function sha256(data: Buffer | string): Buffer {
  return Buffer.from(hash('sha256', data, 'binary'), 'latin1')
}

/** The text of a UUID from its 32 hexadecimal digits. */
export function idOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The 16 bytes of a UUID. */
export function idBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

const pool = Buffer.alloc(4096)
let used = pool.length

/** Up to 4096 random bytes, from many that are made at once: a call of the generator costs more than a hash. */
export function pooledBytes(length: number): Buffer {
  if (used + length > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += length
  return Buffer.from(pool.subarray(used - length, used))
}
