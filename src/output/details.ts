import type { Chalk } from 'chalk'
import { type Column, plain, type Renderer, type View } from './format.ts'
import { wrapped } from './graphemes.ts'
import { visible } from './safe.ts'

/** Spaces between names and values. */
const gap = 2

/** What a value is not wrapped below. */
const narrowest = 20

/** One row as a list of names and values, none of them cut: what is whole stays on its line, the rest is wrapped. */
export function details<Row>(
  view: View<Row>,
  room: number,
  chalk: InstanceType<typeof Chalk>,
): Renderer<Row> {
  const nameWidth = Math.max(...view.columns.map(column => column.name.length)) + gap
  const value = (column: Column<Row>, row: Row) => {
    const text = visible(plain(column.value(row)))
    const isOneLine = column.whole || room === Number.POSITIVE_INFINITY
    return isOneLine ? text : wrapped(text, Math.max(narrowest, room - nameWidth))
  }
  const field = (column: Column<Row>, row: Row) => {
    const lines = value(column, row)
      .split('\n')
      .join(`\n${' '.repeat(nameWidth)}`)
    const name = column.name.toUpperCase()
    return `${chalk.bold(name)}${' '.repeat(nameWidth - name.length)}${lines}`.trimEnd()
  }
  const block = (row: Row) => view.columns.map(column => `${field(column, row)}\n`).join('')
  return { begin: () => '', rows: rows => rows.map(block).join('\n'), end: () => '' }
}
