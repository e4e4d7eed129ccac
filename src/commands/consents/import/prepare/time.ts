import { parseInstant } from '../../../../contract/instant.ts'
import { usageError } from '../../../../errors/errors.ts'

/** Unix time in ms, or why the text is ambiguous or not a time. */
export type TimeReader = (text: string) => number | { readonly problem: string }

interface TimeOptions {
  readonly formats: readonly string[]
  readonly zone: string | undefined
  readonly repeatedHour: 'refuse' | 'earlier' | 'later'
}

/** Wall-clock ms as if UTC, and the offset if given. */
interface Reading {
  readonly wallMs: number
  readonly offsetMs: number | null
}

/** @throws UsageError for an unknown or missing zone */
export function timeReader({ formats, zone, repeatedHour }: TimeOptions): TimeReader {
  const parsers = formats.map(format => ({ format, parse: parserOf(format) }))
  const needsZone = formats.filter(isLocal)
  if (needsZone.length > 0 && zone === undefined)
    throw usageError('the times in the file have no time zone', 'set it with --timezone, such as Europe/Berlin or UTC')
  const toInstants = zone === undefined ? null : zoneReader(zone)
  return text => {
    for (const { parse } of parsers) {
      const reading = parse(text)
      if (reading === null) continue
      if (reading.offsetMs !== null) return reading.wallMs - reading.offsetMs
      return choose(text, toInstants?.(reading.wallMs) ?? [], zone ?? '', repeatedHour)
    }
    return { problem: `"${text}" is not a time as in the map: ${formats.join(' or ')}${describeCause(text)}` }
  }
}

/** '' or the likely cause, with the remedy. */
export function describeCause(text: string): string {
  if (/^[1-6]\d{4}(\.\d+)?$/.test(text)) {
    const day = new Date(excelEpoch + Math.floor(Number(text)) * dayMs).toISOString().slice(0, 10)
    return `; as a date of Excel it is ${day}: give the column a format such as YYYY-MM-DD hh:mm:ss there, and export again`
  }
  if (/^\d{10}$/.test(text)) return '; 10 digits may be seconds since 1970: "epoch_s" in time.formats reads them'
  if (/^\d{13}$/.test(text)) return '; 13 digits may be milliseconds since 1970: "epoch_ms" in time.formats reads them'
  if (/\d[+-]\d{4}$/.test(text) && text.includes(':'))
    return '; its offset has no colon: "YYYY-MM-DDTHH:mm:ssZ" in time.formats reads it'
  return ''
}

/** Excel's day 0, after February 1900. */
const excelEpoch = Date.UTC(1899, 11, 30)

function choose(
  text: string,
  instants: readonly number[],
  zone: string,
  repeatedHour: TimeOptions['repeatedHour'],
): ReturnType<TimeReader> {
  const [earlier, later] = instants
  if (earlier === undefined) return { problem: `"${text}" did not exist in ${zone}: the clocks were set forward` }
  if (later === undefined || repeatedHour === 'earlier') return earlier
  if (repeatedHour === 'later') return later
  return {
    problem: `"${text}" occurred twice in ${zone}: the clocks were set back; time.repeated_hour in the map selects one`,
  }
}

const fixedFormats = ['rfc3339', 'epoch_s', 'epoch_ms', 'epoch_s_local']

function isLocal(format: string): boolean {
  if (fixedFormats.includes(format)) return format === 'epoch_s_local'
  return !tokensOf(format).includes('Z')
}

function parserOf(format: string): (text: string) => Reading | null {
  if (format === 'rfc3339')
    return text => {
      const wallMs = parseInstant(text)
      return wallMs === null ? null : { wallMs: Math.floor(wallMs), offsetMs: 0 }
    }
  if (format === 'epoch_s') return text => (/^\d{12}/.test(text) ? null : epoch(text, 1000)) // since 1990, 12 digits are milliseconds
  if (format === 'epoch_ms') return text => epoch(text, 1)
  if (format === 'epoch_s_local')
    return text => {
      const reading = epoch(text, 1000)
      return reading && { ...reading, offsetMs: null }
    }
  return patternParser(format)
}

/** Truncates to milliseconds. */
function epoch(text: string, unitMs: number): Reading | null {
  if (!/^\d{1,15}(\.\d{1,9})?$/.test(text)) return null
  const [whole = '', fraction = ''] = text.split('.')
  const milliseconds = unitMs === 1 ? 0 : Number(fraction.padEnd(3, '0').slice(0, 3))
  return { wallMs: Number(whole) * unitMs + milliseconds, offsetMs: 0 }
}

const token = /YYYY|MMM|MM|M|DD|D|HH|H|hh|h|mm|ss|A|Z/g

const digits: Readonly<Record<string, string>> = {
  YYYY: '(?<year>\\d{4})',
  MMM: '(?<name>[A-Za-z]{3})',
  MM: '(?<month>\\d\\d)',
  M: '(?<month>\\d{1,2})',
  DD: '(?<day>\\d\\d)',
  D: '(?<day>\\d{1,2})',
  HH: '(?<hour>\\d\\d)',
  H: '(?<hour>\\d{1,2})',
  hh: '(?<hour>\\d\\d)',
  h: '(?<hour>\\d{1,2})',
  mm: '(?<minute>\\d\\d)',
  ss: '(?<second>\\d\\d)(?:[.,](?<fraction>\\d{1,9}))?',
  A: '(?<half>[AaPp]\\.?[Mm]\\.?)',
  Z: '(?<zone>Z|(?:UTC|GMT)?(?<offset>[+-]\\d\\d:?\\d\\d)|UTC|GMT)',
}

function tokensOf(format: string): string[] {
  return format.match(token) ?? []
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** @throws UsageError for a pattern that is incomplete, has unknown letters, or repeats a part */
function patternParser(format: string): (text: string) => Reading | null {
  const tokens = tokensOf(format)
  const unknown = format.replace(token, ' ').match(/(?!T)\p{L}+/gu)
  if (unknown)
    throw usageError(
      `the map's time "${format}" has unknown letters: ${unknown.join(', ')}`,
      'use YYYY MM M MMM DD D HH H hh h mm ss A, T, and Z for an offset',
    )
  const has = (...names: string[]) => names.some(name => tokens.includes(name))
  if (!has('YYYY') || !has('MM', 'M', 'MMM') || !has('DD', 'D') || !has('HH', 'H', 'hh', 'h') || !has('mm'))
    throw usageError(
      `the map's time "${format}" has no year, month, day, hour or minute`,
      'such as YYYY-MM-DD HH:mm:ss',
    )
  if (has('hh', 'h') !== has('A')) throw usageError(`the map's time "${format}" must have hh and A together`)
  const escaped = format.replace(/[\\^$.|?+()[\]{}*/]/g, '\\$&')
  let expression: RegExp
  try {
    expression = new RegExp(`^${escaped.replace(token, found => digits[found] as string)}$`)
  } catch {
    throw usageError(`the map's time "${format}" repeats a part of the time`)
  }
  return text => {
    const parts = expression.exec(text)?.groups
    return parts ? readParts(parts) : null
  }
}

function readParts(parts: Readonly<Record<string, string | undefined>>): Reading | null {
  const { year, month, name = '', day, minute, second = '00', fraction = '', offset } = parts
  const monthNumber = month === undefined ? months.indexOf(name.toLowerCase()) + 1 : Number(month)
  const hour = hourOf(Number(parts['hour']), parts['half'])
  if (hour === null) return null
  const two = (value: unknown) => String(value).padStart(2, '0')
  const time = `${two(hour)}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}Z`
  const wallMs = parseInstant(`${year}-${two(monthNumber)}-${two(day)}T${time}`)
  if (wallMs === null) return null
  if (offset === undefined) return { wallMs, offsetMs: 'zone' in parts ? 0 : null }
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2))
  return { wallMs, offsetMs: (offset.startsWith('-') ? -1 : 1) * minutes * 60_000 }
}

function hourOf(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour
  if (hour < 1 || hour > 12) return null
  return (hour % 12) + (/^p/i.test(half) ? 12 : 0)
}

const dayMs = 86_400_000

/** The instants that showed a wall-clock time: none, one or two. */
function zoneReader(zone: string): (wallMs: number) => number[] {
  const offsetAt = cachedOffsets(openZone(zone))
  return wallMs => {
    const offsets = new Set([offsetAt(wallMs - dayMs), offsetAt(wallMs + dayMs)])
    const instants = [...offsets]
      .map(offset => wallMs - offset)
      .filter(instant => instant + offsetAt(instant) === wallMs)
    return instants.sort((a, b) => a - b)
  }
}

/** A UTC day that starts and ends with the same offset has only that offset. */
function cachedOffsets(format: Intl.DateTimeFormat): (instant: number) => number {
  const starts = new Map<number, number>()
  const offsetAtStart = (day: number): number => {
    const offset = starts.get(day) ?? offsetIn(format, day * dayMs)
    starts.set(day, offset)
    return offset
  }
  return instant => {
    const day = Math.floor(instant / dayMs)
    const offset = offsetAtStart(day)
    return offset === offsetAtStart(day + 1) ? offset : offsetIn(format, instant)
  }
}

function offsetIn(format: Intl.DateTimeFormat, instant: number): number {
  const second = Math.floor(instant / 1000) * 1000
  const parts = Object.fromEntries(format.formatToParts(second).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day, hour, minute } = parts
  return Date.UTC(year, month - 1, day, hour, minute, parts['second']) - second
}

function openZone(zone: string): Intl.DateTimeFormat {
  const part = 'numeric'
  try {
    if (/^[+-]/.test(zone)) throw new RangeError('an offset does not know when clocks change')
    const parts = { year: part, month: part, day: part, hour: part, minute: part, second: part } as const
    return new Intl.DateTimeFormat('en-US', { timeZone: zone, calendar: 'gregory', hourCycle: 'h23', ...parts })
  } catch {
    throw usageError(`unknown time zone "${zone}"`, 'use a name of the IANA database, such as Europe/Berlin or UTC')
  }
}
