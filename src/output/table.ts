import { Chalk } from 'chalk'
import stringWidth from 'string-width'
import { details } from './details.ts'
import { type Column, type Format, plain, type Renderer, type RenderOptions, type View } from './format.ts'
import { prefix } from './graphemes.ts'
import { visible } from './safe.ts'

/** Spaces between columns. */
const gap = 2

/** What a column is not cut below: rather is one of a higher rank left out. */
const narrowest = 20

/**
 * For people: aligned columns cut to the terminal's width. The first rows decide the widths, so that a list of any
 * length streams; columns that find no room are left out, highest rank first.
 */
export const table: Format = <Row>(view: View<Row>, options: RenderOptions): Renderer<Row> => {
  const chalk = new Chalk({ level: options.color ? 1 : 0 })
  if (options.single) return details(view, options.columns, chalk)
  let layout: Layout<Row> | undefined
  const row = (layout: Layout<Row>, text: (column: Column<Row>) => string) =>
    layout
      .map(({ column, width }) => fitted(column, text(column), width))
      .join(' '.repeat(gap))
      .trimEnd()
  return {
    begin: () => '',
    rows: rows => {
      if (rows.length === 0) return ''
      const head = layout ? [] : [title]
      layout ??= arrange(view.columns, column => rows.map(row => textOf(column, row)), options.columns)
      const current = layout
      const lines = [
        ...head.map(names => chalk.bold(row(current, names))),
        ...rows.map(values => row(current, column => textOf(column, values))),
      ]
      return `${lines.join('\n')}\n`
    },
    end: () => '',
  }
}

type Layout<Row> = readonly { readonly column: Column<Row>; readonly width: number }[]

/** Which columns are shown, and how wide: all that are not empty if they fit, else fewer, the cuttable ones sharing what is left. */
function arrange<Row>(
  columns: readonly Column<Row>[],
  cells: (column: Column<Row>) => string[],
  room: number,
): Layout<Row> {
  const isUsed = (column: Column<Row>) => column.whole || cells(column).some(text => text !== '')
  const shown = columns.filter(column => column.rank !== undefined && isUsed(column))
  const widths = new Map(
    shown.map(column => [
      column,
      Math.max(...[title(column), ...cells(column)].map(text => stringWidth(text))),
    ]),
  )
  const least = (column: Column<Row>) => {
    const width = widths.get(column) ?? 0
    return column.whole ? width : Math.min(width, Math.max(narrowest, title(column).length))
  }
  const total = (sizes: number[]) => sizes.reduce((sum, size) => sum + size, 0) + gap * (sizes.length - 1)
  const kept = [...shown].sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0))
  while (kept.length > 1 && total(kept.map(least)) > room) kept.pop()
  let spare = room - total(kept.map(least))
  const granted = new Map<Column<Row>, number>()
  for (const column of kept) {
    const extra = Math.max(0, Math.min(spare, (widths.get(column) ?? 0) - least(column)))
    spare -= extra
    granted.set(column, least(column) + extra)
  }
  return shown
    .filter(column => granted.has(column))
    .map(column => ({ column, width: granted.get(column) ?? 0 }))
}

function title<Row>(column: Column<Row>): string {
  return (column.title ?? column.name).toUpperCase()
}

function textOf<Row>(column: Column<Row>, row: Row): string {
  return visible(column.text ? column.text(row) : plain(column.value(row)))
}

/** A text in a column's cell: filled with spaces, or cut between graphemes with an ellipsis unless it is whole. */
function fitted<Row>(column: Column<Row>, text: string, width: number): string {
  const own = stringWidth(text)
  if (own <= width || column.whole) return text + ' '.repeat(Math.max(0, width - own))
  const [cut = '', used = 0] = prefix(text, width - 1)
  return `${cut}…${' '.repeat(width - 1 - used)}`
}
