import type { TargetedFocusEvent } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import type { Pager } from './pager.ts'
import { Problem } from './problem.tsx'
import type { Column } from './table.tsx'

interface LongListProps<Row> {
  /** What a screen reader announces. */
  readonly label: string
  /** Of the style: `--row` is the height of a row, `.row` has a grid of the columns. */
  readonly name: string
  /** The first one names the row. */
  readonly columns: readonly Column<Row>[]
  readonly pager: Pager<Row>
  /** Rows in all, if that is known. */
  readonly total: number | undefined
  /** Shown instead of no rows. */
  readonly empty: string
  /** Where it is scrolled to, in pixels: kept by the caller for when the user comes back. */
  readonly place: { top: number }
}

/** Rows that are rendered beyond the visible ones, so that Tab goes on and a quick scroll finds some. */
const beyond = 12

/** Rows that have room after those that are read, while more are read. */
const room = 50

interface Range {
  readonly first: number
  readonly last: number
}

/**
 * A table of any length that scrolls in itself: only the rows in view are elements, and their pages are read as they are
 * needed. All rows are of one height. The row that has the focus stays, wherever the list is scrolled to.
 */
export function LongList<Row>({ label, name, columns, pager, total, empty, place }: LongListProps<Row>) {
  const table = useRef<HTMLDivElement>(null)
  const body = useRef<HTMLDivElement>(null)
  const [range, setRange] = useState<Range>({ first: 0, last: 30 })
  const [focused, setFocused] = useState<number | null>(null)
  const [, update] = useReducer((count: number) => count + 1, 0)
  const rows = pager.length + (pager.isComplete ? 0 : room)

  const look = () => {
    if (!table.current || !body.current) return
    place.top = table.current.scrollTop
    const found = rangeIn(table.current, body.current.offsetHeight / rows, rows)
    setRange(before => (before.first === found.first && before.last === found.last ? before : found))
  }
  useEffect(() => pager.subscribe(() => update(0)), [pager])
  useLayoutEffect(() => {
    if (table.current) table.current.scrollTop = place.top
  }, [pager])
  useLayoutEffect(look, [rows])
  useEffect(() => {
    const observer = new ResizeObserver(look)
    if (table.current) observer.observe(table.current)
    return () => observer.disconnect()
  }, [pager, rows])
  useEffect(() => pager.look(range.first, range.last), [pager, range, rows])

  const problem = <Problem error={pager.error} retry={() => pager.retry()} />
  if (pager.length === 0 && !pager.isComplete)
    return pager.error === undefined ? <p role="status">Loading …</p> : problem
  if (rows === 0) return <p class="empty">{empty}</p>
  const shown = indexesOf(range, focused, rows)
  return (
    <>
      {problem}
      <div
        ref={table}
        class={`rows ${name}`}
        role="table"
        aria-label={label}
        aria-rowcount={total === undefined ? -1 : total + 1}
        aria-busy={pager.isReading}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        onScroll={look}
        onFocusIn={event => setFocused(rowOf(event))}
        onFocusOut={() => setFocused(null)}
      >
        <div role="rowgroup" class="head">
          <div role="row" class="row" aria-rowindex={1}>
            {columns.map(({ title }) => (
              <div role="columnheader" key={title}>
                {title}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" class="body" ref={body} style={{ '--rows': rows }}>
          {shown.map(index => (
            <div role="row" class="row" aria-rowindex={index + 2} key={index} style={{ '--at': index }}>
              <Cells row={pager.row(index)} columns={columns} />
            </div>
          ))}
        </div>
      </div>
    </>
  )
}

function Cells<Row>({ row, columns }: { readonly row: Row | undefined; readonly columns: readonly Column<Row>[] }) {
  if (row === undefined) return <div role="cell">…</div>
  return (
    <>
      {columns.map(({ title, cell }, index) => (
        <div role={index === 0 ? 'rowheader' : 'cell'} key={title}>
          {cell(row)}
        </div>
      ))}
    </>
  )
}

function rangeIn({ scrollTop, clientHeight }: HTMLElement, height: number, rows: number): Range {
  return {
    first: Math.max(0, Math.floor(scrollTop / height) - beyond),
    last: Math.min(rows - 1, Math.ceil((scrollTop + clientHeight) / height) + beyond),
  }
}

function indexesOf({ first, last }: Range, focused: number | null, rows: number): number[] {
  const indexes = Array.from({ length: Math.min(last, rows - 1) - first + 1 }, (_, offset) => first + offset)
  if (focused === null || focused >= rows || (focused >= first && focused <= last)) return indexes
  return focused < first ? [focused, ...indexes] : [...indexes, focused]
}

function rowOf({ target }: TargetedFocusEvent<HTMLElement>): number | null {
  const row = target instanceof Element && target.closest('.body > .row')
  return row ? Number(row.getAttribute('aria-rowindex')) - 2 : null
}
