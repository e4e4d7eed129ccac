import fc, { type JsonValue } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Failure } from '../../../server/failure.ts'
import { parseJson } from '../../../server/http/parsing.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const nested = (depth: number, inner = '1') => '['.repeat(depth) + inner + ']'.repeat(depth)
const refused = expect.objectContaining({ name: 'Failure', code: 'invalid_request' })

describe('parseJson › unambiguous JSON', () => {
  const json = fc.jsonValue({ maxDepth: 12 }).filter(isKept)

  it('is parsed as by JSON.parse, compact or over several lines', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(0, 1, '\t', '\r\n '), (value, space) => {
        const text = JSON.stringify(value, null, space)
        expect(parseJson(bytes(text))).toEqual(JSON.parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  it('is parsed the same when every character of a string is escaped', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        const escaped = [...Array(text.length).keys()].map(
          index => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`,
        )
        expect(parseJson(bytes(`{"${escaped.join('')}x": ["${escaped.join('')}"]}`))).toEqual({
          [`${text}x`]: [text],
        })
      }),
    )
  })

  it.each([
    ['an empty key', '{"":1}'],
    ['the same key in two objects', '[{"a":1},{"a":1}]'],
    ['the same key at two depths', '{"a":{"a":{"a":1}},"b":{"a":1}}'],
    ['keys that differ in case', '{"a":1,"A":2}'],
    ['keys that differ in normalisation', '{"é":1,"e\u0301":2}'],
    ['a key as a value', '{"a":"a","b":["a","a"]}'],
    ['a key after a nested object', '{"a":{"b":1},"b":2}'],
    ['keys of Object.prototype', '{"constructor":1,"toString":2,"hasOwnProperty":3}'],
    ['__proto__ as a value', '{"a":"__proto__"}'],
    ['braces, quotes and slashes in strings', '{"a":"}{][,:\\"//","/*":"*/"}'],
    ['characters outside the basic plane', '"𝒳 \\ud835\\udcb3"'],
    ['the largest exact integers', '[9007199254740991,-9007199254740991,9.007199254740991e15]'],
    ['fractions', '[0.1,-0.5e-7,1E2,123.456]'],
    ['32 levels', nested(32)],
    ['a string of a megabyte', JSON.stringify({ a: 'x'.repeat(1_000_000) })],
    ['a string of many escapes', `{"a":"${'\\u0061\\"'.repeat(10_000)}","b":1}`],
    ['zero in every spelling', '[0,0.0,0e5,0.000e-9]'],
    ['white space around', ' \t\r\n{ "a" : [ ] } \n'],
  ])('%s', (_name, text) => {
    expect(parseJson(bytes(text))).toEqual(JSON.parse(text))
  })
})

describe('parseJson › rejects what JSON.parse would change:', () => {
  it.each([
    ['minus zero, which RFC 8785 writes as 0', '[-0]'],
    ['a key twice', '{"a":1,"a":2}'],
    ['a key twice with the same value', '{"a":1,"a":1}'],
    ['a key twice, once escaped', '{"a":1,"\\u0061":2}'],
    ['a key twice, escaped in two ways', '{"/":1,"\\/":2}'],
    ['a key twice around a nested object', '{"a":{"b":1},"c":[{"a":2}],"a":3}'],
    ['a key twice within an array', '[[{"x":1},{"b":1,"b":2}]]'],
    ['an empty key twice', '{"":1,"":2}'],
    ['a key of a surrogate pair twice, once escaped', '{"𝒳":1,"\\ud835\\udcb3":2}'],
    ['__proto__', '{"__proto__":{"accepted":true}}'],
    ['__proto__, escaped', '{"\\u005f_proto__":1}'],
    ['__proto__ deep inside', '[{"a":[{"__proto__":null}]}]'],
    ['33 levels', nested(33)],
    ['20,000 levels', nested(20_000)],
    ['20,000 levels of objects', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
    ['1e400', '1e400'],
    ['-1e400', '{"a":[-1e400]}'],
    ['2^53', '9007199254740992'],
    ['2^53 + 1', '[9007199254740993]'],
    ['-2^53', '-9007199254740992'],
    ['2^53 in exponents', '9007199254740992e0'],
    ['a number that underflows to zero', '1e-400'],
  ])('%s', (_name, text) => {
    expect(() => parseJson(bytes(text))).toThrow(refused)
  })

  it('a repeated key anywhere in any value', () => {
    const place = fc.array(fc.constantFrom('array', 'object'), { maxLength: 20 })
    const key = fc.string({ unit: 'binary' }).filter(text => text.isWellFormed() && text !== '__proto__')
    const between = fc.jsonValue({ maxDepth: 3 }).filter(isKept)
    fc.assert(
      fc.property(place, key, between, (path, name, value) => {
        const quoted = JSON.stringify(name)
        const twice = `{${quoted}:${JSON.stringify(value)},"${name === '-' ? '_' : '-'}":1,${quoted}:null}`
        const text = path.reduce((inner, kind) => (kind === 'array' ? `[0,${inner}]` : `{"k":${inner}}`), twice)
        expect(() => parseJson(bytes(text))).toThrow(refused)
      }),
    )
  })
})

describe('parseJson › rejects what is not JSON in UTF-8:', () => {
  it.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['a byte order mark', '\ufeff{}'],
    ['a comment', '{"a":1/* one */}'],
    ['a line comment', '{} // all'],
    ['a final comma', '{"a":1,}'],
    ['single quotes', "{'a':1}"],
    ['NaN', 'NaN'],
    ['Infinity', '-Infinity'],
    ['a plus sign', '+1'],
    ['a leading zero', '01'],
    ['hexadecimal', '0x10'],
    ['a bare control character', '"\u0001"'],
    ['two values', '{}{}'],
    ['a bare NUL', '\0'],
    ['a no-break space', '\u00a0{}'],
    ['an unclosed object', '{"a":1'],
  ])('%s', (_name, text) => {
    expect(() => parseJson(bytes(text))).toThrow(refused)
  })

  it.each([
    ['a lone continuation byte', [0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a cut sequence', [0xf0, 0x9d, 0x92]],
    ['a code point above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['UTF-16', [0x00, 0x61]],
  ])('%s inside a string', (_name, middle) => {
    expect(() => parseJson(Uint8Array.from([0x22, ...middle, 0x22]))).toThrow(refused)
  })

  it('any bytes give a value or invalid_request, never another error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), input => {
        try {
          parseJson(input)
        } catch (error) {
          expect(error).toBeInstanceOf(Failure)
        }
      }),
      { numRuns: 5000 },
    )
  })
})

/** Whether a value survives JSON: no integer beyond 2^53 - 1, and no key that assigns a prototype. */
function isKept(value: JsonValue): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return true
  return !Object.keys(value).includes('__proto__') && Object.values(value as object).every(isKept)
}
