import type { PostgresType } from 'postgres'

/**
 * How values are written for PostgreSQL so that twice is as good as once. A statement that must be prepared anew, because
 * the schema has changed or a pooler has forgotten it, is sent again by postgres.js 3.4.9 with its values written a second
 * time: its own ways would then store `true` as false, an object as a text, and bytes as their hexadecimal digits.
 */
export const types: Record<string, PostgresType> = {
  boolean: {
    to: 16,
    from: [16],
    serialize: (value: unknown) => (value === true || value === 't' ? 't' : 'f'),
    parse: (text: string) => text === 't',
  },
  // A day is its text, `2026-11-20`: the driver would make an instant of it.
  date: {
    to: 1082,
    from: [1082],
    serialize: (day: string) => day,
    parse: (text: string) => text,
  },
  json: {
    to: 114,
    from: [114, 3802],
    serialize: (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)),
    parse: (text: string) => JSON.parse(text),
  },
  bytea: {
    to: 17,
    from: [17],
    serialize: (value: unknown) =>
      typeof value === 'string' ? value : `\\x${Buffer.from(value as Uint8Array).toString('hex')}`,
    parse: (text: string) => Buffer.from(text.slice(2), 'hex'),
  },
}
