import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isExactNumber, parseExactJson } from '../../../src/contract/exact-json.ts'

const problem = (text: string) => {
  try {
    parseExactJson(text)
    return null
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError)
    return (error as Error).message
  }
}

it('parseExactJson › parses the output of JSON.stringify, with and without spaces', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 5 }), fc.constantFrom(0, 2, '\t'), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      fc.pre(!text.includes('__proto__') && !/\d{16}|e\+/.test(text))
      expect(parseExactJson(text)).toEqual(JSON.parse(text))
    }),
  )
})

it('parseExactJson › never differs from JSON.parse, and rejects everything that it rejects', () => {
  const unit = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b"',
    '"\\u0061"',
    '1',
    '-0.5',
    '"',
    '\\',
    'true',
    ' ',
    '"{\\"a\\":1,"',
  )
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 14, size: 'max' }), text => {
      let expected: unknown
      try {
        expected = JSON.parse(text)
      } catch {
        expect(problem(text)).toBe('is not valid JSON')
        return
      }
      if (problem(text) === null) expect(parseExactJson(text)).toEqual(expected)
      else expect(problem(text)).toContain('twice')
    }),
    { numRuns: 500 },
  )
})

it('parseExactJson › rejects a repeated key in any object, even if it is escaped', () => {
  const key = fc.string({ unit: 'binary' })
  const escaped = (text: string) =>
    `"${[...Array(text.length).keys()].map(at => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
  fc.assert(
    fc.property(key, fc.array(key), (twice, others) => {
      const pairs = [...new Set(others)].filter(each => each !== twice && each !== '__proto__')
      fc.pre(twice !== '__proto__')
      const members = [JSON.stringify(twice), ...pairs.map(each => JSON.stringify(each)), escaped(twice)]
      const text = (keys: string[]) => `[{"x":{${keys.map(each => `${each}:[{}]`).join(',')}}}]`
      expect(problem(text(members))).toContain('twice')
      expect(problem(text(members.slice(1)))).toBeNull()
    }),
  )
})

describe('parseExactJson › values that JSON.parse would change', () => {
  it.each([
    ['{"a":1,"a":1}', 'the key "a" twice'],
    ['{"a":{"b":1,"c":[{"d":1,"d":2}]}}', 'the key "d" twice'],
    ['{"__proto__":1}', '"__proto__"'],
    ['{"\\u005f_proto__":{}}', '"__proto__"'],
    ['9007199254740992', 'number'],
    ['[-9007199254740993]', 'number'],
    ['1e400', 'number'],
    ['{"a":-1E+999}', 'number'],
    ['123456789012345678901234567890', 'number'],
    ['1e-400', 'number'],
    ['-0', 'number'],
    ['0.12345678901234567890123', 'number'],
    ['1.00000000000000000001', 'number'],
    ['1.7976931348623157e308', 'number'],
    [`${'['.repeat(33)}${']'.repeat(33)}`, 'nested too deeply'],
  ])('rejects %s', (text, said) => expect(problem(text)).toContain(said))
})

it.each([
  '',
  ' ',
  '{',
  '{"a":1,}',
  "{'a':1}",
  '[1,]',
  'NaN',
  '01',
  '1.',
  '"\n"',
  '\ufeff{}',
  '{} {}',
  'undefined',
  '// x\n{}',
])('parseExactJson › rejects invalid JSON: %j', text => expect(problem(text)).toBe('is not valid JSON'))

it.each([
  '9007199254740991',
  '0.1',
  '0.30000000000000004',
  '0.10000000000000001',
  '1.50',
  '2e3',
  '0e-400',
  '1e-300',
  '{"a":[{"a":1},{"a":1}]}',
  '["a","a"]',
  '{"a":"a","b":"a"}',
  '"9007199254740993"',
  '{"a":"\\"a\\":1"}',
])('parseExactJson › parses %s', text => {
  expect(problem(text)).toBeNull()
})

it('parseExactJson › survives a million levels or characters', () => {
  expect(problem('['.repeat(1_000_000))).toBe('is not valid JSON')
  expect(problem(`"${'x'.repeat(1_000_000)}"`)).toBeNull()
  expect(problem(`${'['.repeat(5000)}${']'.repeat(5000)}`)).toBe('is nested too deeply')
})

it.each([
  [2 ** 53 - 1, true],
  [2 ** 53, false],
  [0.5, true],
  [Number.NaN, false],
  [Number.NEGATIVE_INFINITY, false],
])('parseExactJson › isExactNumber › returns for %d: %s', (value, exact) => expect(isExactNumber(value)).toBe(exact))
