import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Preferences, preferenceLimits } from '../../../src/contract/json.ts'

const problem = (value: unknown) => {
  const parsed = Preferences.safeParse(value)
  return parsed.success ? null : parsed.error.issues[0]?.message
}
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) })

it('Preferences › keeps any small JSON object unchanged', () => {
  const values = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 5 })
  fc.assert(
    fc.property(values, value => {
      const json = JSON.parse(JSON.stringify(value))
      fc.pre(!JSON.stringify(json).includes('\\u0000') && !/\d{16}|e\+/.test(JSON.stringify(json)))
      fc.pre(!Object.hasOwn(json, '__proto__')) // parseExactJson refuses it, before a schema sees it
      expect(Preferences.parse(json)).toEqual(json)
    }),
  )
})

describe('Preferences › limits', () => {
  it('allows 16 KiB of JSON in UTF-8', () => {
    const room = preferenceLimits.bytes - '{"a":""}'.length
    expect(problem({ a: 'x'.repeat(room) })).toBeNull()
    expect(problem({ a: 'x'.repeat(room + 1) })).toContain('bytes')
    expect(problem({ a: '同'.repeat(room / 3 + 1) })).toContain('bytes')
  })

  it('allows 8 levels, counting the object itself and arrays', () => {
    expect(problem(nested(8))).toBeNull()
    expect(problem(nested(9))).toContain('levels')
    expect(problem({ a: [[[[[[[]]]]]]] })).toBeNull()
    expect(problem({ a: [[[[[[[[]]]]]]]] })).toContain('levels')
  })

  it('allows 256 keys in total, at any depth', () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]))
    expect(problem(keys(256))).toBeNull()
    expect(problem(keys(257))).toContain('keys')
    expect(problem({ a: [keys(127), keys(127)], b: 1 })).toBeNull()
    expect(problem({ a: [keys(127), keys(128)], b: 1 })).toContain('keys')
  })
})

it.each([
  [null, 'a JSON object'],
  [[], 'a JSON object'],
  ['{}', 'a JSON object'],
  [7, 'a JSON object'],
  [undefined, 'a JSON object'],
  [{ a: 'x\u0000' }, 'Unicode'],
  [{ 'x\u0000': 1 }, 'Unicode'],
  [{ a: ['\ud800'] }, 'Unicode'],
  [{ '\udc00': 1 }, 'Unicode'],
  [{ a: Number.POSITIVE_INFINITY }, 'finite'],
  [{ a: Number.NaN }, 'finite'],
  [{ a: 2 ** 53 }, 'integers'],
  [{ a: -(2 ** 53) }, 'integers'],
])('Preferences › rejects %j', (value, said) => {
  expect(problem(value)).toContain(said)
})

it.each([[{ a: 2 ** 53 - 1 }], [{ a: -0.5 }], [{ a: 1e-300 }], [{ a: null, b: [], c: {} }], [{ '': '' }], [{}]])(
  'Preferences › keeps %j',
  value => {
    expect(Preferences.parse(value)).toEqual(value)
  },
)

it('Preferences › rejects a hundred thousand levels without a crash', () => {
  let deep: object = {}
  for (let level = 0; level < 100_000; level += 1) deep = { a: deep }
  expect(problem(deep)).toContain('levels')
})
