import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { View } from '../../../src/output/index.ts'
import { yaml } from '../../../src/output/yaml.ts'
import { acting, hostile } from '../support.ts'
import { readers } from './parse.ts'

const view: View<object> = { columns: [], id: String }
const options = { single: false, columns: 80, color: true, header: true }

const written = (rows: readonly object[]) => {
  const renderer = yaml(view, options)
  return renderer.begin() + renderer.rows(rows) + renderer.end()
}

/** Texts that YAML reads as something else when they are not quoted, and keys as long as a record may have. */
const indicators = ['---', '...', '- a', '? a', '# a', '&a', '*a', '!a', '|', '>', '%YAML', '~', 'null', 'yes', 'no']
const indicator = fc.constantFrom(...indicators, '1e3', '0x1f', '1:2', '2026-01-31', ': ', 'a: b', '@a', '`a', '{', '[')
const text = fc.oneof(
  indicator,
  fc.constantFrom(...Object.values(hostile)),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'binary' }).map(each => `${each}${'k'.repeat(1100)}`),
)
const key = text.filter(each => each !== '__proto__')
const { value } = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => (number === 0 ? 0 : number)),
    fc.constantFrom(null, true, false, 1e21, -1e21, 5e-324, Number.MAX_SAFE_INTEGER),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 3 }),
  ),
}))

it('any row reads back unchanged with YAML 1.2, without terminal controls', () => {
  const rows = fc.array(
    fc.dictionary(
      key.filter(each => each.length < 500),
      value,
      { maxKeys: 4 },
    ),
    { maxLength: 4 },
  )
  fc.assert(
    fc.property(rows, documents => {
      const shown = written(documents)
      expect(shown).not.toMatch(acting)
      expect(readers.yaml(shown)).toEqual(JSON.parse(JSON.stringify(documents)))
    }),
    { numRuns: 300 },
  )
})

it('prints one document per row, one field per line', () => {
  const row = { id: 'a\u{e0041}', no: '\u001b', accepted: true, preferences: { a: [1, 'b\n'] }, region: null }
  expect(written([row, {}])).toBe(
    [
      '---',
      'id: "a\\U000e0041"',
      '"no": "\\u001b"',
      'accepted: true',
      'preferences: {"a": [1, "b\\n"]}',
      'region: null',
      '---',
      '{}',
      '',
    ].join('\n'),
  )
})

it('a long key starts with a question mark', () => {
  const long = 'k'.repeat(1100)
  expect(written([{ preferences: { [long]: 1, a: 2 } }])).toBe(`---\npreferences: {? "${long}": 1, "a": 2}\n`)
})

it('prints no document for an empty list', () => {
  expect(written([])).toBe('')
})
