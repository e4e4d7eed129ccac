import { type Cell, type Format, plain } from './format.ts'
import { encodable, visible } from './safe.ts'

/**
 * Comma-separated values (RFC 4180): with a header, lines ended by CRLF, cells quoted where they must be. A null is
 * nothing, an empty text is `""`. A cell that a spreadsheet would take for a formula has an apostrophe before it, unless
 * `unguarded`; to undo that, take one apostrophe from the cells that begin with apostrophes and then such a character.
 */
export const csv: Format = (view, { unguarded, isTerminal }) => {
  const line = (cells: string[]) => `${cells.join(',') || '""'}\r\n` // an empty line is no row to most readers
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
 * What spreadsheets take for a formula: by its first character, of full width too, or after white space that they drop.
 * With apostrophes of its own before it, for else an apostrophe of ours could not be told from them.
 */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/

function quoted(text: string): string {
  return text !== '' && !/[",\r\n]|^\s|\s$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`
}
