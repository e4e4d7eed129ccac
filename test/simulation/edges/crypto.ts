import { current } from '../scheduler.ts'
import { crypto } from './globals.ts'

export * from 'node:crypto'

export const { randomUUID } = crypto

export function randomFillSync(bytes: Buffer): Buffer {
  const { productRandom } = current()
  for (let index = 0; index + 4 <= bytes.length; index += 4) bytes.writeUInt32LE(productRandom.uint32(), index)
  return bytes
}

export function randomBytes(length: number): Buffer {
  return randomFillSync(Buffer.alloc((length + 3) & ~3)).subarray(0, length)
}
