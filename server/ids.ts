import { v7 } from 'uuid'
import { idOf, pooledBytes } from '../src/evidence/bytes.ts'

/** The last id's millisecond since 1970, and its place within that (RFC 9562 section 6.2, method 1). */
let [msecs, seq] = [0, 0]

/**
 * How far the clock may be behind the last id, in milliseconds, for the order to be kept all the same. Beyond that it was
 * wrong before: what is made now must not bear a time to come until the clock is there again.
 */
const patience = 60_000

/** A new UUID version 7 (RFC 9562 section 5.7), above every other that this process made since its clock was set right. */
export function newId(): string {
  const random = pooledBytes(16)
  const now = Date.now()
  if (now > msecs || now < msecs - patience) {
    msecs = now
    seq = random.readUInt32BE() >>> 1 // so that many more follow in the same millisecond
  } else if (seq === 0xffff_ffff) {
    msecs += 1
    seq = 0
  } else seq += 1
  return v7({ random, msecs, seq })
}

/** The instant in a UUID version 7. */
export function readInstant(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

const latest = 2 ** 48 - 1

/** The smallest id of a millisecond since 1970; that of 1970 for an earlier one. */
export function firstIdAt(millisecond: number): string {
  return idAt(Math.max(0, millisecond), '0')
}

/** The largest id of a millisecond since 1970; below every id there is for an earlier one. */
export function lastIdAt(millisecond: number): string {
  return millisecond < 0 ? idAt(0, '0') : idAt(millisecond, 'f')
}

function idAt(millisecond: number, fill: string): string {
  const hex = Math.min(millisecond, latest).toString(16).padStart(12, '0') + fill.repeat(20)
  return idOf(hex)
}
