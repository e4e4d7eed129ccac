import { Chalk } from 'chalk'
import { type Column, type Format, isEmpty, plain, type Renderer, type RenderOptions, type View } from './format.ts'
import { prefix, widthOf } from './graphemes.ts'
import { type Palette, palette } from './palette.ts'
import { visible } from './safe.ts'

const gap = '  '

/** Narrower columns are omitted instead of truncated. */
const minWidth = 20

/**
 * Columns by rank, cut to the terminal's width. The first rows decide the widths, so that long lists stream.
 * Right-to-left text is not isolated: most terminals would show the control characters.
 */
export const table: Format = <Row>(view: View<Row>, options: RenderOptions): Renderer<Row> => {
  const look = palette(Chalk, options.color)
  const room = options.uncut || options.wide ? Number.POSITIVE_INFINITY : options.columns
  const hidden = new Set<Column<Row>>()
  const leftOut = new Set<string>()
  let layout: readonly Placed<Row>[] | undefined
  const begin = (rows: readonly Row[]) => {
    const floor = options.chosen || view.keepsAll ? 0 : minWidth
    const placed = arrange(candidates(view, options, rows), rows, room, floor)
    if (!options.chosen && !view.keepsAll)
      for (const column of view.columns) if (!placed.some(each => each.column.name === column.name)) hidden.add(column)
    return placed
  }
  const noteHidden = (row: Row) => {
    for (const column of hidden)
      if (!isEmpty(column.value(row))) {
        leftOut.add(column.name)
        hidden.delete(column)
      }
  }
  return {
    begin: () => '',
    rows: rows => {
      if (rows.length === 0) return ''
      let text = ''
      if (layout === undefined) {
        layout = begin(rows)
        text = `${look.title(lineOf(layout, ({ column }) => title(column)))}\n`
      }
      for (const row of rows) {
        text += `${lineOf(layout, ({ column }) => textOf(column, row), toneOf(look, row))}\n`
        noteHidden(row)
      }
      return text
    },
    end: () => '',
    leftOut: () => view.columns.filter(({ name }) => leftOut.has(name)).map(({ name }) => name),
  }
}

interface Placed<Row> {
  readonly column: Column<Row>
  readonly width: number
  readonly isCut: boolean
}

type Paint<Row> = (column: Column<Row>, text: string) => string

function toneOf<Row>(look: Palette, row: Row): Paint<Row> {
  return (column, text) => look.tone(column.tone?.(row), text)
}

function lineOf<Row>(
  layout: readonly Placed<Row>[],
  textOf: (place: Placed<Row>) => string,
  paint: Paint<Row> = (_, text) => text,
): string {
  let line = ''
  let pad = ''
  for (const place of layout) {
    const { text, width } = fitted(textOf(place), place)
    if (text !== '') {
      line += pad + paint(place.column, text)
      pad = ''
    }
    pad += ' '.repeat(Math.max(0, place.width - width)) + gap
  }
  return line
}

/** Selected columns in their order, else by rank: all (`wide`) or those with a rank and a value. */
function candidates<Row>(
  { columns }: View<Row>,
  { chosen, wide }: RenderOptions,
  rows: readonly Row[],
): readonly Column<Row>[] {
  if (chosen) return columns.map(column => ({ ...column, rank: 0 }))
  const isUsed = (column: Column<Row>) => column.whole || rows.some(row => textOf(column, row) !== '')
  const shown = wide ? columns : columns.filter(column => column.rank !== undefined && isUsed(column))
  return [...shown].sort((a, b) => rankOf(a) - rankOf(b))
}

function rankOf<Row>({ rank = Number.MAX_SAFE_INTEGER }: Column<Row>): number {
  return rank
}

function arrange<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  room: number,
  floor: number,
): readonly Placed<Row>[] {
  const measure = (column: Column<Row>) => {
    const titleWidth = Math.max(title(column).length, column.minWidth ?? 0)
    const width = rows.reduce((most, row) => Math.max(most, widthOf(textOf(column, row))), titleWidth)
    const isCut = !column.whole && room !== Number.POSITIVE_INFINITY
    return { column, width, isCut, least: isCut ? Math.min(width, Math.max(floor, titleWidth)) : width }
  }
  const kept = columns.map(measure)
  const total = () => kept.reduce((sum, { least }) => sum + least + gap.length, -gap.length)
  while (kept.length > 1 && floor > 0 && total() > room) {
    const { brief, ...column } = kept.pop()?.column ?? {}
    if (brief) kept.push(measure({ ...(column as Column<Row>), text: brief }))
  }
  let spare = Math.max(0, room - total())
  return kept.map(({ column, width, isCut, least }) => {
    const extra = Math.min(spare, width - least)
    spare -= extra
    return { column, isCut, width: least + extra }
  })
}

function title<Row>(column: Column<Row>): string {
  return (column.title ?? column.name).toUpperCase()
}

function textOf<Row>(column: Column<Row>, row: Row): string {
  return visible(column.text ? column.text(row) : plain(column.value(row)))
}

function fitted<Row>(text: string, { width, isCut }: Placed<Row>): { text: string; width: number } {
  const own = widthOf(text)
  if (own <= width || !isCut) return { text, width: Math.min(own, width) }
  const [cut, used] = prefix(text, width - 1)
  return { text: `${cut}…`, width: used + 1 }
}
