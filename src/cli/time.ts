import { parseInstant } from '../contract/values.ts'
import { usageError } from '../errors/errors.ts'

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

const [startOfDay, endOfDay] = ['T00:00:00.000Z', 'T23:59:59.999Z']

/** A lower bound in time as RFC 3339: as it is, the start of a UTC day, or so long before now. */
export function startInstant(text: string, now: Date): string {
  return toInstant(text, startOfDay, length => now.getTime() - length)
}

/** An upper bound: a day is meant to its last millisecond. */
export function endInstant(text: string, now: Date): string {
  return toInstant(text, endOfDay, length => now.getTime() - length)
}

/** A time that is over, by this machine's clock: as it is, the end of a UTC day, or so long before now. */
export function pastInstant(text: string, now: Date): string {
  const instant = endInstant(text, now)
  if ((parseInstant(instant) ?? 0) > now.getTime())
    throw usageError(`${text} is not over yet`, 'for the present state leave it out')
  return instant
}

/** A time to come: as it is, the end of a UTC day, or so long from now. */
export function futureInstant(text: string, now: Date): string {
  const instant = toInstant(text, endOfDay, length => now.getTime() + length)
  if ((parseInstant(instant) ?? 0) <= now.getTime()) throw usageError(`${text} is over already`)
  return instant
}

function toInstant(text: string, ofDay: string, relative: (length: number) => number): string {
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? []
  const instant =
    count && unit
      ? new Date(relative(Number(count) * (units[unit] ?? 0))).toISOString()
      : /^\d{4}-\d\d-\d\d$/.test(text)
        ? text + ofDay
        : text
  if (parseInstant(instant) !== null) return instant
  throw usageError(`"${text}" is no time`, 'write 2026-01-31, 2026-01-31T09:30:00Z, 7d or 24h')
}
