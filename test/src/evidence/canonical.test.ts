import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonical } from '../../../src/evidence/canonical.ts'

const unit = fc.constantFrom('a', 'B', '_', '0', '1', '"', '\\', '\u0000', '\u2028', 'é', '\ufb33', '😀')
const text = fc.string({ unit, maxLength: 3 })
const name = fc.oneof(text, fc.constantFrom('__proto__', 'toJSON', 'constructor', '10', '9', '-1'))
const number = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer())
const { value } = fc.letrec(tie => ({
  value: fc.oneof({ maxDepth: 4 }, text, number, fc.boolean(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.array(fc.tuple(name, tie('value')), { maxLength: 5 }).map(Object.fromEntries),
}))

describe('canonical JSON', () => {
  it('sorts names as RFC 8785 section 3.2.3 does', () => {
    const names = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 }
    const ordered = '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}'
    expect(canonical(names)).toBe(ordered)
  })

  it('equals the output of the reference implementation for any value', () => {
    fc.assert(
      fc.property(value, any => {
        expect(canonical({ any })).toBe(canonicalize({ any }))
      }),
      { numRuns: 2000 },
    )
  })

  it('omits undefined, and calls toJSON', () => {
    const value = { b: undefined, at: new Date(0), a: { c: [undefined, 1] } }
    expect(canonical(value)).toBe('{"a":{"c":[null,1]},"at":"1970-01-01T00:00:00.000Z"}')
  })

  it.each([
    ['a lone surrogate', { a: '\ud800' }],
    ['a lone surrogate in a name', { 'a\udc00': 1 }],
    ['NaN', { a: Number.NaN }],
    ['an infinite number', { a: [Number.POSITIVE_INFINITY] }],
  ])('rejects %s, which has no canonical form', (_, value) => {
    expect(() => canonical(value)).toThrow()
  })
})
