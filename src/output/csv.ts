import { type Cell, cellColumns, type Format, plain } from './format.ts'
import { guardFormula } from './formula.ts'
import { encodable, visible } from './safe.ts'

const special = /[",\r\n]|^\s|\s$/

/**
 * RFC 4180 with header and CRLF. Null is an empty cell, an empty text is `""`. Unless `unguarded`, formulas get an
 * apostrophe (`formula.ts`).
 */
export const csv: Format = (view, options) => {
  const { unguarded, isTerminal } = options
  const columns = cellColumns(view, options)
  const line = (cells: string[]) => `${cells.join(',') || '""'}\r\n` // most readers skip an empty line
  const quoted = (text: string) => (text !== '' && !special.test(text) ? text : `"${text.replaceAll('"', '""')}"`)
  const cell = (value: Cell) => {
    if (value === null) return ''
    const text = isTerminal ? visible(plain(value)) : encodable(plain(value))
    return quoted(unguarded ? text : guardFormula(text))
  }
  return {
    begin: () => line(columns.map(column => quoted(column.name))),
    rows: rows => rows.map(row => line(columns.map(column => cell((column.source ?? column.value)(row))))).join(''),
    end: () => '',
  }
}
