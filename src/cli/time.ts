import { parseInstant } from '../contract/instant.ts'
import { usageError } from '../errors/errors.ts'

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

const startOfDay = 'T00:00:00.000Z'
const endOfDay = 'T23:59:59.999Z'

/** An instant, a day or minute (its start in UTC), or an age such as 7d. */
export function startInstant(text: string, now: Date): string {
  return toInstant(text, startOfDay, length => now.getTime() - length)
}

/** Converts an upper bound. A day, minute or second includes its last millisecond. */
export function endInstant(text: string, now: Date): string {
  return toInstant(text, endOfDay, length => now.getTime() - length)
}

/** Tomorrow in UTC is valid: it may have begun in the user's time zone. */
export function receivedDay(text: string): string {
  const now = new Date()
  const day = startInstant(text, now).slice(0, 10)
  if (day > new Date(now.getTime() + 86_400_000).toISOString().slice(0, 10))
    throw usageError(`the date received is in the future: ${text}`)
  return day
}

/** Converts an upper bound. @throws CliError (usage) if it is in the future by this machine's clock */
export function pastInstant(text: string, now: Date): string {
  const instant = endInstant(text, now)
  if ((parseInstant(instant) ?? 0) <= now.getTime()) return instant
  const isDay = instant === text + endOfDay
  if (!isDay && (parseInstant(startInstant(text, now)) ?? 0) <= now.getTime()) return now.toISOString() // the current minute
  throw usageError(
    isDay ? `the end of ${text} (UTC) is in the future` : `${text} is in the future`,
    isDay ? 'add a time of day, or leave it out for the present state' : 'leave it out for the present state',
  )
}

/** Converts an upper bound; 90d is 90 days from now. @throws CliError (usage) unless it is in the future */
export function futureInstant(text: string, now: Date): string {
  const instant = toInstant(text, endOfDay, length => now.getTime() + length)
  if ((parseInstant(instant) ?? 0) <= now.getTime()) throw usageError(`${text} is in the past`)
  return instant
}

/** Converts an age such as 7d to a UTC day. */
export function utcDay(text: string, now: Date): string {
  const day = /^\d{1,6}[dw]$/.test(text) ? startInstant(text, now).slice(0, 10) : text
  if (/^\d{4}-\d\d-\d\d$/.test(day) && parseInstant(day + startOfDay) !== null) return day
  throw usageError(`invalid day "${text}": statistics count whole days (UTC)`, 'use 2026-01-31, 7d or 4w')
}

/** Converts a duration such as 24h or 7d. */
export function durationMs(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([mhdw])$/.exec(text) ?? []
  if (count && unit) return Number(count) * (units[unit] ?? 0)
  throw usageError(`invalid duration "${text}"`, 'use 24h, 7d or 90m')
}

function toInstant(text: string, ofDay: string, relative: (length: number) => number): string {
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? []
  const instant =
    count && unit
      ? new Date(relative(Number(count) * (units[unit] ?? 0))).toISOString()
      : fromTable(/^\d{4}-\d\d-\d\d$/.test(text) ? text + ofDay : text, ofDay)
  if (parseInstant(instant) !== null) return instant
  throw usageError(`invalid time "${text}"`, 'use 2026-01-31, 2026-01-31T09:30:00Z, 2026-01-31 09:30Z, 7d or 24h')
}

/** Completes a time copied from a table with the end of `ofDay`. */
function fromTable(text: string, ofDay: string): string {
  const [, day, blank, t] = /^(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d(?::\d\d)?)|T(\d\d:\d\d))Z$/.exec(text) ?? []
  const time = blank ?? t
  return time === undefined ? text : `${day}T${time}${ofDay.slice(1 + time.length)}`
}
