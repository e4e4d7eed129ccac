import { parseInstant } from '../../contract/index.ts'
import { usageError } from '../../errors.ts'

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** A lower bound in time as RFC 3339: as it is, the start of a UTC day, or so long before now. */
export function firstInstant(text: string, now: Date): string {
  return toInstant(text, now, 'T00:00:00.000Z')
}

/** An upper bound: a day is meant to its last millisecond. */
export function lastInstant(text: string, now: Date): string {
  return toInstant(text, now, 'T23:59:59.999Z')
}

function toInstant(text: string, now: Date, ofDay: string): string {
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? []
  if (count && unit) return new Date(now.getTime() - Number(count) * (units[unit] ?? 0)).toISOString()
  const instant = /^\d{4}-\d\d-\d\d$/.test(text) ? text + ofDay : text
  if (parseInstant(instant) !== null) return instant
  throw usageError(`"${text}" is no time`, 'write 2026-01-31, 2026-01-31T09:30:00Z, 7d or 24h')
}
