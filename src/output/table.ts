import { Chalk } from 'chalk'
import { type Column, type Format, plain, type RenderOptions, rowsOnly, type View } from './format.ts'
import { prefix, widthOf } from './graphemes.ts'
import { visible } from './safe.ts'

const gap = '  '

/** Of a cut column; if there is less room, columns are left out. */
const minWidth = 20

/**
 * Aligned columns cut to the terminal's width. The first rows decide the widths, so that lists of any length stream.
 * Columns without room are left out, highest rank first, unless they were requested.
 *
 * Right-to-left text is not isolated, because most terminals would show the control characters: a terminal that reorders
 * lines may show the next cell on its other side.
 */
export const table: Format = <Row>(view: View<Row>, options: RenderOptions) => {
  const chalk = new Chalk({ level: options.color ? 1 : 0 })
  const room = options.uncut ? Number.POSITIVE_INFINITY : options.columns
  let layout: readonly Placed<Row>[] | undefined
  return rowsOnly<Row>(rows => {
    if (rows.length === 0) return ''
    let text = ''
    if (layout === undefined) {
      const floor = options.chosen || view.keepsAll ? 0 : minWidth
      layout = arrange(candidates(view, options, rows), rows, room, floor)
      text = `${chalk.bold(lineOf(layout, ({ column }) => title(column)))}\n`
    }
    for (const row of rows) text += `${lineOf(layout, ({ column }) => textOf(column, row))}\n`
    return text
  })
}

interface Placed<Row> {
  readonly column: Column<Row>
  readonly width: number
  readonly isCut: boolean
}

function lineOf<Row>(layout: readonly Placed<Row>[], text: (place: Placed<Row>) => string): string {
  let line = ''
  for (const place of layout) line += (line && gap) + fitted(text(place), place)
  return line.trimEnd()
}

/** The requested columns, else those with a rank that are not empty. */
function candidates<Row>(
  { columns }: View<Row>,
  { chosen }: RenderOptions,
  rows: readonly Row[],
): readonly Column<Row>[] {
  if (chosen) return columns.map(column => ({ ...column, rank: 0 }))
  const isUsed = (column: Column<Row>) => column.whole || rows.some(row => textOf(column, row) !== '')
  return columns.filter(column => column.rank !== undefined && isUsed(column))
}

/** Leaves out and cuts columns, to no less than `floor`, until they fit. */
function arrange<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  room: number,
  floor: number,
): readonly Placed<Row>[] {
  const wanted = columns.map(column => {
    const titleWidth = title(column).length
    const width = rows.reduce((most, row) => Math.max(most, widthOf(textOf(column, row))), titleWidth)
    const isCut = !column.whole && room !== Number.POSITIVE_INFINITY
    return { column, width, isCut, least: isCut ? Math.min(width, Math.max(floor, titleWidth)) : width }
  })
  const kept = [...wanted].sort((a, b) => (a.column.rank ?? 0) - (b.column.rank ?? 0))
  const total = () => kept.reduce((sum, { least }) => sum + least + gap.length, -gap.length)
  while (kept.length > 1 && floor > 0 && total() > room) kept.pop()
  let spare = Math.max(0, room - total())
  const granted = new Map(
    kept.map(({ column, width, least }) => {
      const extra = Math.min(spare, width - least)
      spare -= extra
      return [column, least + extra]
    }),
  )
  return wanted
    .filter(({ column }) => granted.has(column))
    .map(({ column, isCut }) => ({ column, isCut, width: granted.get(column) ?? 0 }))
}

function title<Row>(column: Column<Row>): string {
  return (column.title ?? column.name).toUpperCase()
}

function textOf<Row>(column: Column<Row>, row: Row): string {
  return visible(column.text ? column.text(row) : plain(column.value(row)))
}

function fitted<Row>(text: string, { width, isCut }: Placed<Row>): string {
  const own = widthOf(text)
  if (own <= width || !isCut) return text + ' '.repeat(Math.max(0, width - own))
  const [cut, used] = prefix(text, width - 1)
  return `${cut}…${' '.repeat(Math.max(0, width - 1 - used))}`
}
