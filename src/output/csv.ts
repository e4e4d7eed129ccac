import { type Cell, type Format, plain } from './format.ts'
import { encodable, visible } from './safe.ts'

/**
 * Comma-separated values (RFC 4180) with a header and CRLF. Null is an empty cell, an empty text is `""`. A cell that a
 * spreadsheet would take for a formula gets an apostrophe before it, unless `unguarded`. To undo that, remove one
 * apostrophe from cells that begin with apostrophes followed by such a character.
 */
export const csv: Format = (view, { unguarded, isTerminal }) => {
  const line = (cells: string[]) => `${cells.join(',') || '""'}\r\n` // most readers skip an empty line
  const cell = (value: Cell) => {
    if (value === null) return ''
    const text = isTerminal ? visible(plain(value)) : encodable(plain(value))
    return quoted(unguarded || !formula.test(text) ? text : `'${text}`)
  }
  return {
    begin: () => line(view.columns.map(column => quoted(column.name))),
    rows: rows => rows.map(row => line(view.columns.map(column => cell(column.value(row))))).join(''),
    end: () => '',
  }
}

/**
 * Cells that spreadsheets take for a formula: by the first character, also in full width, or after white space that they
 * drop. Leading apostrophes are included, because ours could not be told from them otherwise.
 */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/

function quoted(text: string): string {
  return text !== '' && !/[",\r\n]|^\s|\s$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`
}
