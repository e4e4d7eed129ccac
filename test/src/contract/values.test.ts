import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ConsentQuery } from '../../../src/contract/consents.ts'
import { parseInstant } from '../../../src/contract/instant.ts'
import { PolicyVersion, QueryBoolean, queryInteger, text, Uuid } from '../../../src/contract/values.ts'

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success

describe('contract values › parseInstant', () => {
  it('round-trips the output of Date, to the millisecond', () => {
    const dates = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(dates, date => {
        expect(parseInstant(date.toISOString())).toBe(date.getTime())
        expect(parseInstant(date.toISOString().replace('Z', '+00:00'))).toBe(date.getTime())
      }),
    )
  })

  it('keeps fractions of a millisecond', () => {
    const whole = Date.parse('2026-01-31T09:30:00Z')
    for (const [fraction, floor] of [
      ['0001', 0],
      ['000000001', 0],
      ['999999999', 999],
      ['0010', 1],
    ] as const) {
      const instant = parseInstant(`2026-01-31T09:30:00.${fraction}Z`) ?? 0
      expect(Math.floor(instant)).toBe(whole + floor)
      expect(Math.ceil(instant)).toBe(whole + floor + (fraction === '0010' ? 0 : 1))
    }
    expect(parseInstant('2026-01-31T09:30:00.999Z')).toBe(whole + 999)
  })

  it.each([
    ...['', 'now', '1779010200', '2026-05-17', '2026-05-17T09:30Z', '2026-05-17T09:30:00', '2026-05-17 09:30:00Z'],
    ...['2026-05-17T09:30:00Z ', '2026-05-17T09:30:00+2:00', '2026-05-17T09:30:00+24:00', '2026-05-17T24:00:00Z'],
    ...['2026-06-30T23:59:60Z', '2026-02-30T00:00:00Z', '2025-02-29T00:00:00Z', '2026-13-01T00:00:00Z'],
    ...['0000-01-01T00:00:00Z', '+12026-05-17T09:30:00Z'],
  ])('rejects %j', value => expect(parseInstant(value)).toBeNull())
})

describe('contract values › text', () => {
  it('is measured in characters, not UTF-16 units, and never changed', () => {
    expect(accepts(text(1, 3), '👍👍👍')).toBe(true)
    expect(accepts(text(1, 3), '👍👍👍👍')).toBe(false)
    for (const value of [' a ', 'e\u0301', '\u00e9', '\ufeffa', 'a\u202e']) expect(text(1, 9).parse(value)).toBe(value)
  })

  it.each(['a\u0000', '\ud800', 'a\udc00b', '\udc00\ud800'])(
    'rejects %j, which would not be stored unchanged',
    value => {
      expect(accepts(text(0, 9), value)).toBe(false)
    },
  )

  it('enforces its bounds', () => {
    expect(accepts(text(1, 255), '')).toBe(false)
    expect(accepts(text(0, 255), '')).toBe(true)
    expect(accepts(text(1, 255), 'x'.repeat(255))).toBe(true)
    expect(accepts(text(1, 255), 'x'.repeat(256))).toBe(false)
  })
})

describe('contract values › Uuid', () => {
  it('accepts any case and version', () => {
    expect(Uuid.parse('01939D2C-7B1A-7C3E-9A51-2F6A1F0D9B11')).toBe('01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11')
    for (const version of '012345678f')
      expect(accepts(Uuid, `01939d2c-7b1a-${version}c3e-ca51-2f6a1f0d9b11`)).toBe(true)
  })

  it.each([
    'urn:uuid:01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11',
    '{01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11}',
    '01939d2c7b1a7c3e9a512f6a1f0d9b11',
    '01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b1',
    '01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11\n',
    '01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b1g',
    '',
  ])('rejects %j', value => expect(accepts(Uuid, value)).toBe(false))
})

describe('contract values › numbers and booleans', () => {
  it.each([1, 2_147_483_647])('accepts %d as a policy version', value =>
    expect(accepts(PolicyVersion, value)).toBe(true),
  )
  it.each([0, -1, 1.5, 2_147_483_648, Number.NaN, '1', true, null, 1n])('rejects %s', value =>
    expect(accepts(PolicyVersion, value)).toBe(false),
  )

  it.each([
    ['true', true],
    ['false', false],
    [true, true],
    [false, false],
  ])('parses %j in a query as %s', (given, value) => expect(QueryBoolean.parse(given)).toBe(value))
  it.each(['TRUE', '1', '', 1, null, 'yes'])('rejects %j as a boolean', value =>
    expect(accepts(QueryBoolean, value)).toBe(false),
  )

  it.each([
    [1, 1],
    ['1', 1],
    ['100', 100],
    ['007', 7],
  ])('parses %j as the integer %i', (given, value) => expect(queryInteger(1, 100).parse(given)).toBe(value))
  it.each(['0', '101', '-1', '+1', '1.0', '1e1', ' 1', '', 'abc', 1.5, 0, 101, null, '99999999999'])(
    'rejects %j, which is not from 1 to 100',
    value => expect(accepts(queryInteger(1, 100), value)).toBe(false),
  )
})

describe('contract values › bodies and queries', () => {
  it.each(['', 'P', '30d', 'P1H', 'PT1H', 'past', 'P30D '])('rejects %j as an expiry', expiry =>
    expect(accepts(ConsentQuery, { expiry })).toBe(false),
  )

  it('rejects a range that ends before it begins; a single instant is a range', () => {
    const [early, late] = ['2026-01-31T10:00:00+02:00', '2026-01-31T09:00:00Z']
    expect(accepts(ConsentQuery, { from: early, to: late })).toBe(true)
    expect(accepts(ConsentQuery, { from: late, to: early })).toBe(false)
    expect(accepts(ConsentQuery, { from: late, to: late })).toBe(true)
  })
})
