import fc from 'fast-check'
import { type FilterKind, filters } from '../../../src/contract/index.ts'
import { unknownId } from './records.ts'

const booleans = ['', 'TRUE', '1', 'yes', 'null', '%20true']

const integers = '0 101 -1 abc 1.5 %205 5%20 %2B5 1e1 0x10 05.0 99999999999'.split(' ')

/** No instant of RFC 3339, or one without an offset, or one that no clock shows. */
const instants = [
  '',
  'now',
  '1779010200',
  '2026-05-17',
  '2026-05-17T09:30Z',
  '2026-05-17T09:30:00',
  '2026-05-17%2009:30:00Z',
  '2026-05-17T09:30:00Z%20',
  '2026-05-17T09:30:00%2B2:00',
  '2026-05-17T09:30:00%2B24:00',
  '2026-05-17T24:00:00Z',
  '2026-06-30T23:59:60Z',
  '2026-02-30T00:00:00Z',
  '2025-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '%2B12026-05-17T09:30:00Z',
]

const texts = ['', 'x'.repeat(256), '%00', '%ff', '%ed%a0%80', '%zz', '%']

const refusedOf: Readonly<Record<FilterKind, readonly string[]>> = {
  boolean: booleans,
  from: instants,
  to: instants,
  site: ['', 'x', `urn:uuid:${unknownId}`, `${unknownId}%20`],
  text: texts,
}

const refused: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(filters.map(({ name, kind }) => [name, refusedOf[kind]])),
  limit: ['', ...integers],
  include_deleted: booleans,
  expiry: ['', 'P', '30d', 'P1H', 'PT1H', 'P101Y', 'past', 'P30D%20'],
  cursor: ['', 'x', '%00', 'AA', '=', '%20'],
}

const unknown = 'acepted subject id page offset Limit accepted[] constructor __proto__'.split(' ')

/** Parameters of a list that are refused, percent-encoded: `[name, text]`. */
export const badParameters: [name: string, text: string][] = [
  ...Object.entries(refused).flatMap(([name, values]) => values.map((text): [string, string] => [name, text])),
  ...unknown.map((name): [string, string] => [name, 'true']),
]

/** What a cursor could be altered to: bits, characters, parts, ends, other alphabets, plain noise. */
export function cursorMutants(cursor: string): fc.Arbitrary<string> {
  const at = fc.nat(cursor.length - 1)
  const noise = fc.string({ unit: 'binary', minLength: 1, maxLength: 4 })
  const character = fc.constantFrom(...'ABCXYZabcxyz0189-_+/=')
  const put = (start: number, end: number, text: string) => cursor.slice(0, start) + text + cursor.slice(end)
  const mutant = fc.oneof(
    fc.tuple(at, fc.nat(7)).map(([i, bit]) => flip(cursor, i, bit)),
    fc.tuple(at, character).map(([i, text]) => put(i, i + 1, text)),
    fc.tuple(at, at, noise).map(([i, j, text]) => put(Math.min(i, j), Math.max(i, j), text)),
    fc.tuple(at, noise).map(([i, text]) => put(i, i, text)),
    at.map(i => cursor.slice(0, i) || 'A'),
    fc.constantFrom('=', '==', ' ', '\n', 'A').map(text => cursor + text),
    fc.constantFrom(cursor.toUpperCase(), Buffer.from(cursor, 'base64url').toString('hex'), cursor + cursor),
    fc.base64String({ minLength: 44, maxLength: 44 }),
  )
  return mutant.filter(text => text !== cursor)
}

/** A cursor with one bit of its bytes turned over. */
function flip(cursor: string, index: number, bit: number): string {
  const bytes = Buffer.from(cursor, 'base64url')
  const at = index % bytes.length
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at)
  return bytes.toString('base64url')
}
