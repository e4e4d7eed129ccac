import * as z from 'zod'
import { parseInstant } from './instant.ts'
import { uuidPattern } from './uuid.ts'

/** Kept unchanged by PostgreSQL and JSON. Lengths in code points. */
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

export function storable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0')
}

function characters(value: string): number {
  let count = 0
  for (const _ of value) count += 1
  return count
}

export const Uuid = z
  .string('must be a UUID')
  .regex(uuidPattern, 'must be a UUID')
  .toLowerCase()
  .meta({ format: 'uuid', pattern: '^[\\dA-Fa-f]{8}(-[\\dA-Fa-f]{4}){3}-[\\dA-Fa-f]{12}$' })

/** Any text, because other instances may have other ids. */
export const Id = z.string().meta({ format: 'uuid', pattern: '^[\\da-f]{8}(-[\\da-f]{4}){3}-[\\da-f]{12}$' })

const maxInteger = 2_147_483_647

export const PolicyVersion = z
  .int('must be an integer')
  .min(1, `must be from 1 to ${maxInteger}`)
  .max(maxInteger, `must be from 1 to ${maxInteger}`)

/** Any number, because other instances may use others. */
export const Count = z.number().meta({ type: 'integer', minimum: 0 })

/** Used in signed documents. */
export const ExactCount = z
  .number()
  .refine(value => Number.isSafeInteger(value) && value >= 0, 'must be a count')
  .meta({ type: 'integer', minimum: 0 })

export const Instant = z
  .string()
  .refine(value => parseInstant(value) !== null, {
    error: 'must be an RFC 3339 date-time with an offset, such as 2026-01-31T09:30:00Z',
  })
  .meta({ format: 'date-time' })

const earliest = Date.UTC(1990, 0, 1)

/** Kept as UTC with milliseconds; a finer fraction is cut off. */
export const PastInstant = Instant.refine(value => {
  const at = parseInstant(value)
  return at === null || (at >= earliest && at <= Date.now())
}, 'must not be before 1990 or in the future').overwrite(toUtc)

function toUtc(instant: string): string {
  if (/^[^Z]{10}T[^Z]{12}Z$/.test(instant)) return instant
  const at = parseInstant(instant)
  return at === null ? instant : new Date(Math.floor(at)).toISOString()
}

export const FileDigest = z
  .string('must be text')
  .regex(/^[\da-f]{64}$/, 'must be a SHA-256 in 64 lower-case hexadecimal digits')
  .meta({ pattern: '^[\\da-f]{64}$' })

/** Any text, like `Id`; this service returns UTC with milliseconds. */
export const Timestamp = z
  .string()
  .meta({ format: 'date-time', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })

/** Also accepts `true` and `false` in a query string. */
export const QueryBoolean = z
  .union([z.boolean(), z.enum(['true', 'false']).transform(word => word === 'true')])
  .meta({ type: 'boolean' })

/** Also accepts digits in a query string. */
export function queryInteger(min: number, max: number) {
  const digits = z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number)
  const message = `must be an integer from ${min} to ${max}`
  return z.union([z.number(), digits], message).pipe(z.int(message).min(min, message).max(max, message))
}

export const pageQuery = {
  cursor: z
    .string()
    .min(1, 'must not be empty')
    .optional()
    .describe('next_cursor of the previous page, with the same filters.'),
  limit: queryInteger(1, 100).optional().meta({ default: 50 }),
}

export function pageOf<T extends z.ZodType>(item: T, nextCursor = 'Null on the last page.') {
  return z.object({
    data: z.array(item),
    limit: z.int().meta({ minimum: 1, maximum: 100 }),
    next_cursor: z.string().nullable().describe(nextCursor),
  })
}

/** Instances may omit the field; then it is null. */
export function optional<T extends z.ZodType>(field: T) {
  return field.nullable().default(null)
}

/** This service, too, returns the field only in some responses. */
export function onRequest<T extends z.ZodType>(field: T) {
  return field.optional().meta({ onRequest: true })
}
