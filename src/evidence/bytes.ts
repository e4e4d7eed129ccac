import { hash, randomFillSync } from 'node:crypto'

/**
 * Returns the SHA-256 (FIPS 180-4) of bytes, or of text in UTF-8. Uses a string because each Buffer that `hash` returns is
 * its own allocation, which takes four times as long.
 */
export function sha256(data: Buffer | string): Buffer {
  return Buffer.from(hash('sha256', data, 'binary'), 'latin1')
}

/** Formats 32 hexadecimal digits as a UUID. */
export function idOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

export function idBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

const pool = Buffer.alloc(4096)
let used = pool.length

/** Returns up to 4096 bytes from a pool: a call of the generator takes longer than a hash. */
export function pooledBytes(length: number): Buffer {
  if (used + length > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += length
  return Buffer.from(pool.subarray(used - length, used))
}
