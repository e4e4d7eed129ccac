import { v7 } from 'uuid'
import { idOf, pooledBytes } from '../src/evidence/bytes.ts'

/** Timestamp (ms since 1970) and counter of the last id (RFC 9562, section 6.2, method 1). */
let msecs = 0
let seq = 0

/**
 * Ids stay in order while the clock is behind the last id by no more than this. If it is further behind, it was wrong before,
 * and new ids must not carry a time in the future until it is reached.
 */
const maxClockStepMs = 60_000

/** Returns a UUID version 7 (RFC 9562, section 5.7) above every other of this process, unless its clock was set right. */
export function newId(): string {
  const random = pooledBytes(16)
  const now = Date.now()
  if (now > msecs || now < msecs - maxClockStepMs) {
    msecs = now
    seq = random.readUInt32BE() >>> 1 // leaves room for more in the same millisecond
  } else if (seq === 0xffff_ffff) {
    msecs += 1
    seq = 0
  } else seq += 1
  return v7({ random, msecs, seq })
}

/** Returns the timestamp of a UUID version 7. */
export function readInstant(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

const maxMilliseconds = 2 ** 48 - 1

/** Returns the smallest id of a millisecond since 1970. Earlier ones count as 1970. */
export function firstIdAt(millisecond: number): string {
  return idAt(Math.max(0, millisecond), '0')
}

/** Returns the largest id of a millisecond since 1970, or one below all ids for an earlier one. */
export function lastIdAt(millisecond: number): string {
  return millisecond < 0 ? idAt(0, '0') : idAt(millisecond, 'f')
}

function idAt(millisecond: number, fill: string): string {
  const hex = Math.min(millisecond, maxMilliseconds).toString(16).padStart(12, '0') + fill.repeat(20)
  return idOf(hex)
}
