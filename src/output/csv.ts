import { type Cell, type Column, cellColumns, type Format, plain, type RenderOptions, type View } from './format.ts'
import { guardFormula } from './formula.ts'
import { spreadParts } from './parts.ts'
import { encodable, visible } from './safe.ts'

/**
 * RFC 4180 with header and CRLF. Null is an empty cell, an empty text is `""`. Unless `unguarded`, formulas get an
 * apostrophe (`formula.ts`). For spreadsheets it begins with a byte order mark.
 */
export const csv: Format = <Row>(view: View<Row>, options: RenderOptions) => {
  const { unguarded, isTerminal, spreadsheet } = options
  const own = cellColumns(view, options)
  const delimiter = spreadsheet ?? ','
  const line = (cells: string[]) => `${cells.join(delimiter) || '""'}\r\n` // most readers skip an empty line
  const special = delimiter === ';' ? /[";\r\n]|^\s|\s$/ : /[",\r\n]|^\s|\s$/
  const quoted = (text: string) => (text !== '' && !special.test(text) ? text : `"${text.replaceAll('"', '""')}"`)
  const cell = (value: Cell) => {
    if (value === null) return ''
    const text = isTerminal ? visible(plain(value)) : encodable(plain(value))
    return quoted(unguarded ? text : guardFormula(text))
  }
  const write = (columns: readonly Column<Row>[], rows: readonly Row[]) =>
    rows.map(row => line(columns.map(column => cell((column.source ?? column.value)(row))))).join('')
  const header = (columns: readonly Column<Row>[]) => line(columns.map(column => quoted(column.name)))
  if (!spreadsheet)
    return {
      begin: () => header(own),
      rows: (rows: readonly Row[]) => write(own, rows),
      end: () => '',
    }
  const mark = isTerminal ? '' : '\ufeff'
  let columns: readonly Column<Row>[] | null = null
  return {
    begin: () => '',
    rows: (rows: readonly Row[]) => {
      if (rows.length === 0 || columns) return write(columns ?? [], rows)
      columns = spreadParts(own, rows)
      return mark + header(columns) + write(columns, rows)
    },
    end: () => (columns ? '' : mark + header(own)),
  }
}
