import { type Cell, type Format, plain } from './format.ts'
import { encodable, visible } from './safe.ts'

/**
 * RFC 4180 with a header and CRLF. Null is an empty cell, an empty text is `""`. Unless `unguarded`, a cell that matches
 * `formula` gets an apostrophe before it. To undo that, remove one from cells that match.
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
 * Cells that spreadsheets take for a formula, also after white space that they drop. Leading apostrophes are included,
 * so that ours can be removed.
 */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/

function quoted(text: string): string {
  return text !== '' && !/[",\r\n]|^\s|\s$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`
}
