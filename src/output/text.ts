import { cellColumns, type Format, plain, rowsOnly } from './format.ts'
import { tsvText } from './safe.ts'

export const tsv: Format = (view, options) => {
  const columns = cellColumns(view, options)
  return {
    begin: () => (options.header ? `${columns.map(column => column.name).join('\t')}\n` : ''),
    rows: rows => rows.map(row => `${columns.map(column => tsvText(plain(column.value(row)))).join('\t')}\n`).join(''),
    end: () => '',
  }
}

export const id: Format = view =>
  rowsOnly(rows => {
    const ids = rows.map(row => view.id(row)).filter(id => id !== '')
    return ids.map(id => `${tsvText(id)}\n`).join('')
  })
