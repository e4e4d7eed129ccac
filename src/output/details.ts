import { Chalk } from 'chalk'
import Table from 'cli-table3'
import { type Column, type Format, isEmpty, plain, type RenderOptions, rowsOnly, type View } from './format.ts'
import { wrapped } from './graphemes.ts'
import { palette } from './palette.ts'
import { partsIn } from './parts.ts'
import { visible } from './safe.ts'

const gap = 2

const minWidth = 20

/** The cost of cli-table3 is quadratic in the lines. */
const maxGridLines = 50

/** One row as names and values, without empty ones unless requested. Values wrap and are never cut. */
export const details: Format = <Row>(
  view: View<Row>,
  { columns, uncut = false, wide = false, chosen = false, color }: RenderOptions,
) => {
  const look = palette(Chalk, color)
  const columnsOf = (row: Row) =>
    chosen ? view.columns : view.columns.flatMap(each => (each.parts?.isSpread ? partsIn(each, row) : [each]))
  const linesOf = (column: Column<Row>, row: Row, room: number) => {
    const text = visible(plain(column.value(row)))
    return column.whole || uncut || wide ? [text] : wrapped(text, Math.max(minWidth, room)).split('\n')
  }
  const leftOut = new Set<string>()
  const block = (row: Row) => {
    const all = columnsOf(row)
    const nameWidth = Math.max(...all.map(column => column.name.length)) + gap
    const filled = all.filter(column => wide || chosen || !isEmpty(column.value(row)))
    const shown = filled.filter(({ aside }) => wide || chosen || !aside)
    for (const { name, aside } of filled) if (aside && !wide && !chosen) leftOut.add(name)
    const lines = shown.flatMap(column =>
      linesOf(column, row, columns - nameWidth).map((line, index) => ({
        cells: [index === 0 ? column.name.toUpperCase() : '', line],
        tone: column.tone?.(row),
      })),
    )
    const text: string[] = []
    for (let start = 0; start < lines.length; start += maxGridLines) {
      const grid = new Table({ ...borderless, colWidths: [nameWidth] })
      grid.push(...lines.slice(start, start + maxGridLines).map(({ cells }) => cells))
      text.push(...grid.toString().split('\n'))
    }
    // Added last, because cli-table3 counts escape sequences.
    const colored = text.map((line, index) => {
      const [name, value] = [line.slice(0, nameWidth), line.slice(nameWidth).trimEnd()]
      const title = name.trim() && look.title(name.trimEnd()) + (value && ' '.repeat(nameWidth - name.trimEnd().length))
      return (title || (value && name)) + (value && look.tone(lines[index]?.tone, value))
    })
    return `${colored.join('\n')}\n`
  }
  return { ...rowsOnly<Row>(rows => rows.map(block).join('\n')), leftOut: () => [...leftOut] }
}

const borders =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid middle'
const borderless = {
  chars: Object.fromEntries(borders.split(' ').map(place => [place, ''])),
  style: { 'padding-left': 0, 'padding-right': gap, head: [], border: [] },
}
