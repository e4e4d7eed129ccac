import * as z from 'zod'

/**
 * Text that PostgreSQL and JSON both keep unchanged: well-formed Unicode without NUL, counted in characters
 * (code points), never normalised or trimmed.
 */
export function text(min: number, max: number) {
  return z
    .string('must be text')
    .refine(storable, 'must be well-formed Unicode without NUL')
    .refine(
      value => value.length >= 2 * min || characters(value) >= min,
      min === 1 ? 'must not be empty' : `must have ${min} characters or more`,
    )
    .refine(value => value.length <= max || characters(value) <= max, `must have at most ${max} characters`)
    .meta({ minLength: min, maxLength: max, pattern: '^[^\\u0000]*$' })
}

/** Whether PostgreSQL and JSON both keep a text unchanged. */
export function storable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0')
}

/** Each has one code unit or two. */
function characters(value: string): number {
  let count = 0
  for (const _ of value) count += 1
  return count
}

/** A UUID in its canonical text (RFC 9562 section 4), any version; upper case is read as lower case. */
export const Uuid = z
  .string('must be a UUID')
  .regex(/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i, 'must be a UUID')
  .toLowerCase()
  .meta({ format: 'uuid', pattern: '^[\\dA-Fa-f]{8}(-[\\dA-Fa-f]{4}){3}-[\\dA-Fa-f]{12}$' })

/** An id of an answer: any text, for another instance may write ids in its own way; this service writes UUIDs. */
export const Id = z.string().meta({ format: 'uuid', pattern: '^[\\da-f]{8}(-[\\da-f]{4}){3}-[\\da-f]{12}$' })

/** PostgreSQL's largest `integer`. */
const maxInteger = 2_147_483_647

export const PolicyVersion = z
  .int('must be an integer')
  .min(1, `must be from 1 to ${maxInteger}`)
  .max(maxInteger, `must be from 1 to ${maxInteger}`)

/** A number of an answer that this service writes as a count. */
export const Count = z.number().meta({ type: 'integer', minimum: 0 })

/** The same where it goes into a signed document, and must be one. */
export const ExactCount = z
  .number()
  .refine(value => Number.isSafeInteger(value) && value >= 0, 'must be a count')
  .meta({ type: 'integer', minimum: 0 })

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/

/**
 * An instant in RFC 3339 with an offset, as a count of milliseconds since 1970; whatever is finer counts as half a
 * one, so that a lower bound can be rounded up and an upper one down. `null` for what is no instant: `24:00`, a leap second, 30
 * February, the year 0000.
 */
export function parseInstant(value: string): number | null {
  const parts = rfc3339.exec(value)
  if (!parts || parts[1] === '0000') return null
  const [, year, month, day, hour, minute, second, fraction = '0', offset = ''] = parts
  const [zoneHour, zoneMinute] = [Number(offset.slice(1, 3)), Number(offset.slice(4, 6))]
  const lastDay = new Date(
    Date.UTC(Number(year) + (Number(year) < 100 ? 400 : 0), Number(month), 0),
  ).getUTCDate()
  if (Number(month) < 1 || Number(month) > 12 || Number(day) < 1 || Number(day) > lastDay) return null
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null
  if (zoneHour > 23 || zoneMinute > 59) return null
  const whole = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${offset.toUpperCase()}`)
  const milliseconds = Number(fraction.padEnd(3, '0').slice(0, 3))
  return Number.isNaN(whole) ? null : whole + milliseconds + (/[1-9]/.test(fraction.slice(3)) ? 0.5 : 0)
}

export const Instant = z
  .string()
  .refine(value => parseInstant(value) !== null, {
    error: 'must be an RFC 3339 date-time with an offset, such as 2026-01-31T09:30:00Z',
  })
  .meta({ format: 'date-time' })

/** An instant of an answer: any text, like an id; this service writes UTC with exactly milliseconds. */
export const Timestamp = z
  .string()
  .meta({ format: 'date-time', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })

/** `true` or `false`, as the word of a query string or as a boolean. */
export const QueryBoolean = z
  .union([z.boolean(), z.enum(['true', 'false']).transform(word => word === 'true')])
  .meta({ type: 'boolean' })

/** An integer within bounds, as the digits of a query string or as a number. */
export function queryInteger(min: number, max: number) {
  const digits = z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number)
  const message = `must be an integer from ${min} to ${max}`
  return z.union([z.number(), digits], message).pipe(z.int(message).min(min, message).max(max, message))
}
