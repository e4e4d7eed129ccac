import { Chalk } from 'chalk'
import Table from 'cli-table3'
import { type Column, type Format, plain, type Renderer, type RenderOptions, type View } from './format.ts'
import { wrapped } from './graphemes.ts'
import { visible } from './safe.ts'

/** Spaces between names and values. */
const gap = 2

/** What a value is not wrapped below. */
const narrowest = 20

/** For people: one row as a list of names and values, none of them cut; what is whole stays on its line, the rest is wrapped. */
export const details: Format = <Row>(
  view: View<Row>,
  { columns, uncut, color }: RenderOptions,
): Renderer<Row> => {
  const chalk = new Chalk({ level: color ? 1 : 0 })
  const room = columns - Math.max(...view.columns.map(column => column.name.length)) - gap
  const linesOf = (column: Column<Row>, row: Row) => {
    const text = visible(plain(column.value(row)))
    return column.whole || uncut ? [text] : wrapped(text, Math.max(narrowest, room)).split('\n')
  }
  const block = (row: Row) => {
    const grid = new Table({
      chars: borderless,
      style: { 'padding-left': 0, 'padding-right': gap, head: [], border: [] },
    })
    // A line each: a cell of many lines takes cli-table3 longer than anybody waits.
    for (const column of view.columns)
      for (const [index, line] of linesOf(column, row).entries())
        grid.push([index === 0 ? column.name.toUpperCase() : '', line])
    // Coloured afterwards: cli-table3 knows no escape sequences where it measures.
    const lines = grid
      .toString()
      .split('\n')
      .map(line => line.trimEnd().replace(/^\S+/, name => chalk.bold(name)))
    return `${lines.join('\n')}\n`
  }
  return { begin: () => '', rows: rows => rows.map(block).join('\n'), end: () => '' }
}

const edges = [
  'top',
  'top-mid',
  'top-left',
  'top-right',
  'bottom',
  'bottom-mid',
  'bottom-left',
  'bottom-right',
] as const
const inner = ['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'] as const
const borderless = Object.fromEntries([...edges, ...inner].map(place => [place, ''])) as Record<
  (typeof edges)[number] | (typeof inner)[number],
  string
>
