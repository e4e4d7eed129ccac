import { hash } from 'node:crypto'

/**
 * SHA-256 (FIPS 180-4) of bytes, or of text in UTF-8: 32 bytes. By way of a string, for each Buffer that the library makes is an
 * allocation of its own: that takes four times as long, and the garbage collector longer still.
 */
export function sha256(data: Buffer | string): Buffer {
  return Buffer.from(hash('sha256', data, 'binary'), 'latin1')
}
