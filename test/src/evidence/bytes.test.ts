import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Preimage } from '../../../src/evidence/bytes.ts'

const text = fc.string({ unit: 'binary', maxLength: 3000 }).map(value => value.toWellFormed())
const bytes = fc.uint8Array({ maxLength: 3000 }).map(value => Buffer.from(value))

it('a preimage of any length is hashed completely, without parts of the previous one', () => {
  const preimage = new Preimage()
  fc.assert(
    fc.property(text, bytes, fc.uuid(), fc.nat(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (...parts) => {
      const [text, bytes, id, number, time] = parts
      const integers = Buffer.alloc(13)
      integers.writeUInt8(number % 256)
      integers.writeUInt32BE(number, 1)
      integers.writeBigInt64BE(time, 5)
      const all = [Buffer.from(text), bytes, Buffer.from(id.replaceAll('-', ''), 'hex'), integers]
      const hash = preimage.start().text(text).bytes(bytes).id(id).uint8(number).uint32(number).int64(time).sha256()
      expect(hash.toString('hex')).toBe(createHash('sha256').update(Buffer.concat(all)).digest('hex'))
    }),
    { numRuns: 300 },
  )
})
