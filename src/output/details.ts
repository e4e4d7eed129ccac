import { Chalk } from 'chalk'
import { type Column, type Format, plain, type RenderOptions, rowsOnly, type View } from './format.ts'
import { wrapped } from './graphemes.ts'
import { visible } from './safe.ts'

/** Spaces between names and values. */
const gap = 2

const minWrappedWidth = 20

/** Shows each row as a list of names and values, which are wrapped but never cut. */
export const details: Format = <Row>(view: View<Row>, { columns, uncut, color }: RenderOptions) => {
  const chalk = new Chalk({ level: color ? 1 : 0 })
  const nameWidth = Math.max(...view.columns.map(column => column.name.length)) + gap
  const width = Math.max(minWrappedWidth, columns - nameWidth)
  const field = (column: Column<Row>, row: Row) => {
    const text = visible(plain(column.value(row)))
    const lines = column.whole || uncut ? [text] : wrapped(text, width).split('\n')
    const name = chalk.bold(column.name.toUpperCase()) + ' '.repeat(nameWidth - column.name.length)
    return lines.map((line, index) => `${(index === 0 ? name : ' '.repeat(nameWidth)) + line}\n`).join('')
  }
  const block = (row: Row) =>
    view.columns
      .map(column => field(column, row))
      .join('')
      .replace(/ +$/gm, '')
  return rowsOnly<Row>(rows => rows.map(block).join('\n'))
}
