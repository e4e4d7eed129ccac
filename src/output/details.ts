import { Chalk } from 'chalk'
import Table from 'cli-table3'
import { type Column, type Format, plain, type RenderOptions, rowsOnly, type View } from './format.ts'
import { wrapped } from './graphemes.ts'
import { visible } from './safe.ts'

/** Spaces between names and values. */
const gap = 2

/** Minimum width of a wrapped value. */
const minWidth = 20

/** Lines in a grid, because the cost of cli-table3 is quadratic in them. */
const maxGridLines = 50

/** Shows one row as a list of names and values. Nothing is cut; values that may be are wrapped. */
export const details: Format = <Row>(view: View<Row>, { columns, uncut, color }: RenderOptions) => {
  const chalk = new Chalk({ level: color ? 1 : 0 })
  const nameWidth = Math.max(...view.columns.map(column => column.name.length)) + gap
  const room = columns - nameWidth
  const linesOf = (column: Column<Row>, row: Row) => {
    const text = visible(plain(column.value(row)))
    return column.whole || uncut ? [text] : wrapped(text, Math.max(minWidth, room)).split('\n')
  }
  const block = (row: Row) => {
    const lines = view.columns.flatMap(column =>
      linesOf(column, row).map((line, index) => [index === 0 ? column.name.toUpperCase() : '', line]),
    )
    let text = ''
    for (let start = 0; start < lines.length; start += maxGridLines) {
      const grid = new Table({ ...borderless, colWidths: [nameWidth] })
      grid.push(...lines.slice(start, start + maxGridLines))
      text += `${grid.toString()}\n`
    }
    // Coloured afterwards, because cli-table3 would count the escape sequences.
    return text.replace(/ +$/gm, '').replace(/^\S+/gm, name => chalk.bold(name))
  }
  return rowsOnly<Row>(rows => rows.map(block).join('\n'))
}

const borders =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid middle'
const borderless = {
  chars: Object.fromEntries(borders.split(' ').map(place => [place, ''])),
  style: { 'padding-left': 0, 'padding-right': gap, head: [], border: [] },
}
