import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { csv } from '../../../src/output/csv.ts'
import type { Cell, View } from '../../../src/output/index.ts'
import { readCsv } from './parse.ts'

interface Row {
  readonly a: Cell
  readonly b: Cell
}
const view: View<Row> = {
  id: () => '',
  columns: [
    { name: 'a', value: row => row.a },
    { name: 'b', value: row => row.b },
  ],
}
const options = { single: false, columns: 80, color: true, header: false }

function written(rows: readonly Row[], more: object = {}, of: View<Row> = view) {
  const renderer = csv(of, { ...options, ...more })
  return renderer.begin() + renderer.rows(rows) + renderer.end()
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }).filter(each => each.isWellFormed()),
  fc.string({ unit: fc.constantFrom(...`='"+-@,;\t\r\n ＝\u00a0\u200ba\\\0\u001b`) }),
)
const cell = fc.oneof(text, fc.constant(null), fc.integer(), fc.boolean())
const asText = (value: Cell) => (value === null ? null : String(value))

it('any values read back unchanged, with null distinct from an empty text, with and without the guard', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ a: cell, b: cell }), { maxLength: 5 }), fc.boolean(), (rows, unguarded) => {
      const { header, cells } = readCsv(written(rows, { unguarded }), { isGuarded: !unguarded })
      expect(header).toEqual(['a', 'b'])
      expect(cells).toEqual(rows.map(row => [asText(row.a), asText(row.b)]))
    }),
    { numRuns: 500 },
  )
})

it('lines end with CRLF, including the header, and an empty list is a header', () => {
  expect(written([])).toBe('a,b\r\n')
  expect(written([{ a: 'x', b: 1 }])).toBe('a,b\r\nx,1\r\n')
})

it.each<[string, Row, string]>([
  ['a quote', { a: 'a"b', b: null }, '"a""b",'],
  ['a comma', { a: 'a,b', b: '' }, '"a,b",""'],
  ['a line’s end', { a: 'a\nb', b: 'c\r' }, '"a\nb","c\r"'],
  ['spaces at the ends', { a: ' a', b: 'b ' }, '" a","b "'],
  ['an object', { a: { x: 'y' }, b: true }, '"{""x"":""y""}",true'],
  ['controls, which CSV cannot escape', { a: '\u001b[m', b: '\0' }, '\u001b[m,\0'],
])('writes %s as in RFC 4180', (_, row, line) => {
  expect(written([row])).toBe(`a,b\r\n${line}\r\n`)
})

it('a row with a single null is not an empty line', () => {
  const one = { ...view, columns: view.columns.slice(0, 1) }
  expect(written([{ a: null, b: 1 }], {}, one)).toBe('a\r\n""\r\n')
})

it('shows a lone surrogate instead of replacing it', () => {
  expect(written([{ a: 'a\ud800b', b: '\udc00' }])).toBe('a,b\r\na\\u{d800}b,\\u{dc00}\r\n')
})

describe('formulas in CSV', () => {
  it.each([
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n=1',
    '＝1',
    '－1',
    "'=1",
    "''@x",
    '\u00a0=1',
    '\u200b＋1',
    ' \ufeff@x',
    "'\u2060-1",
  ])('%j gets a leading apostrophe, unless --no-csv-guard is set', value => {
    const [[guarded]] = readCsv(written([{ a: value, b: 0 }]), { isGuarded: false }).cells as [[string]]
    const [[bare]] = readCsv(written([{ a: value, b: 0 }], { unguarded: true }), { isGuarded: false }).cells as [
      [string],
    ]
    expect({ guarded, bare }).toEqual({ guarded: `'${value}`, bare: value })
  })

  it.each(["'a", "o'neill", 'a=b', '1-2', '{"a":"=1"}'])('%j is not a formula, and is not escaped', value => {
    expect(readCsv(written([{ a: value, b: 0 }]), { isGuarded: false }).cells[0]?.[0]).toBe(value)
  })
})
