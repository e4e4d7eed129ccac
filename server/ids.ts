import { v7 } from 'uuid'
import { idOf, pooledBytes } from '../src/evidence/bytes.ts'

export const noId = '00000000-0000-0000-0000-000000000000'

/** Unix time in ms and counter of the last id (RFC 9562, section 6.2, method 1). */
let msecs = 0
let seq = 0

/** Ids stay in order if the clock is set back by less than this. */
const maxClockStepMs = 60_000

/** Returns a UUID version 7 (RFC 9562, section 5.7), in ascending order. */
export function newId(): string {
  const random = pooledBytes(16)
  const now = Date.now()
  if (now > msecs || now < msecs - maxClockStepMs) {
    msecs = now
    seq = random.readUInt32BE() >>> 1
  } else if (seq === 0xffff_ffff) {
    msecs += 1
    seq = 0
  } else seq += 1
  return v7({ random, msecs, seq })
}

export function readInstant(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

const maxMilliseconds = 2 ** 48 - 1

/** Returns the first id of a Unix time in ms. Times before 1970 count as 0. */
export function firstIdAt(millisecond: number): string {
  return idAt(Math.max(0, millisecond), '0')
}

/** Returns the last id of a Unix time in ms. For times before 1970, returns one below all ids. */
export function lastIdAt(millisecond: number): string {
  return millisecond < 0 ? idAt(0, '0') : idAt(millisecond, 'f')
}

function idAt(millisecond: number, fill: string): string {
  return idOf(Math.min(millisecond, maxMilliseconds).toString(16).padStart(12, '0') + fill.repeat(20))
}
