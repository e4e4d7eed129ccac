import type { TargetedFocusEvent, TargetedKeyboardEvent } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Problem } from './problem.tsx'
import type { Rows } from './rows.ts'
import type { Columns } from './table.tsx'

interface LongListProps<Row> {
  readonly label: string
  readonly columns: Columns<Row>
  readonly linkOf: (row: Row) => string
  readonly rows: Rows<Row>
  readonly total: number | undefined
  readonly onRetry?: () => void
  readonly empty: string
  /** The scroll position in pixels, updated by the list and kept by the caller. */
  readonly place: { top: number }
}

/** Rows rendered above and below the visible ones, for fast scrolling. */
const beyond = 12

/** Empty rows at the end of an incomplete list, shown while the next page loads. */
const room = 50

interface Range {
  readonly first: number
  readonly last: number
}

/**
 * A table with its own scrollbar: only rows in view are DOM elements, and pages are read on demand. All rows have the same
 * height. The rows are one tab stop, in which arrow keys move; the focused row stays in the DOM when it is scrolled away.
 */
export function LongList<Row>({ label, columns, linkOf, rows, total, onRetry, empty, place }: LongListProps<Row>) {
  const table = useRef<HTMLDivElement>(null)
  const body = useRef<HTMLDivElement>(null)
  const [range, setRange] = useState<Range>({ first: 0, last: 30 })
  const [focused, setFocused] = useState<number | null>(null)
  const isMoving = useRef(false)
  const [, update] = useState(0)
  const size = rows.length + (rows.isComplete ? 0 : room)

  const look = () => {
    if (!table.current || !body.current) return
    place.top = table.current.scrollTop
    const found = rangeIn(table.current, body.current.offsetHeight / size, size)
    setRange(before => (before.first === found.first && before.last === found.last ? before : found))
  }
  useEffect(() => rows.subscribe(() => update(count => count + 1)), [rows])
  useLayoutEffect(() => {
    if (table.current) table.current.scrollTop = place.top
  }, [rows])
  useLayoutEffect(look, [size])
  useLayoutEffect(() => {
    if (!isMoving.current) return
    const row = body.current?.querySelector(`[aria-rowindex="${(focused ?? 0) + 2}"]`)
    const link = row?.querySelector('a')
    isMoving.current = !link // the page of the row may not be read yet
    if (link) link.focus()
    else row?.scrollIntoView({ block: 'nearest' })
  })
  useEffect(() => {
    const observer = new ResizeObserver(look)
    if (table.current) observer.observe(table.current)
    return () => observer.disconnect()
  }, [rows, size])
  useEffect(() => rows.look(range.first, range.last), [rows, range, size])

  const retry = () => {
    rows.retry()
    onRetry?.()
  }
  const problem = <Problem error={rows.error} retry={retry} />
  if (rows.length === 0 && !rows.isComplete) return rows.error === undefined ? <p role="status">Loading …</p> : problem
  if (size === 0) return <p class="empty">{empty}</p>
  const shown = indexesOf(range, focused, size)
  const stop = focused ?? range.first + (range.first === 0 ? 0 : beyond)
  const move = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const steps = stepsOf(event.key, range)
    if (focused === null || steps === 0) return
    event.preventDefault()
    isMoving.current = true
    setFocused(Math.max(0, Math.min(rows.length - 1, focused + steps)))
  }
  return (
    <>
      {problem}
      <div
        ref={table}
        class="rows"
        role="table"
        aria-label={label}
        aria-rowcount={total === undefined ? -1 : total + 1}
        aria-busy={rows.isReading}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        onScroll={look}
        onKeyDown={move}
        onFocusIn={event => setFocused(rowOf(event))}
        onFocusOut={() => isMoving.current || setFocused(null)}
      >
        <div role="rowgroup" class="head">
          <div role="row" class="row" aria-rowindex={1}>
            {Object.keys(columns).map(title => (
              <div role="columnheader" key={title}>
                {title}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" class="body" ref={body} style={{ '--rows': size }}>
          {shown.map(index => (
            <div role="row" class="row" aria-rowindex={index + 2} key={index} style={{ '--at': index }}>
              <Cells row={rows.row(index)} columns={columns} linkOf={linkOf} isStop={index === stop} />
            </div>
          ))}
        </div>
      </div>
    </>
  )
}

interface CellsProps<Row> extends Pick<LongListProps<Row>, 'columns' | 'linkOf'> {
  readonly row: Row | undefined
  readonly isStop: boolean
}

function Cells<Row>({ row, columns, linkOf, isStop }: CellsProps<Row>) {
  if (row === undefined) return <div role="cell">…</div>
  const [name, ...others] = Object.values(columns).map(cell => cell(row))
  return (
    <>
      <div role="rowheader">
        <a href={linkOf(row)} tabIndex={isStop ? 0 : -1}>
          {name}
        </a>
      </div>
      {others.map((cell, index) => (
        <div role="cell" key={index}>
          {cell}
        </div>
      ))}
    </>
  )
}

function stepsOf(key: string, { first, last }: Range): number {
  const page = Math.max(1, last - first - 2 * beyond)
  const steps: Readonly<Record<string, number>> = {
    ...{ ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page },
    ...{ Home: Number.NEGATIVE_INFINITY, End: Number.POSITIVE_INFINITY },
  }
  return steps[key] ?? 0
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
