import { useState } from 'preact/hooks'
import { type Loaded, useCall } from '../call.ts'
import { Button } from './button.tsx'
import { Show } from './screen.tsx'
import { Table, type TableProps } from './table.tsx'

interface PageOf<Row> {
  readonly data: readonly Row[]
  /** Null on the last page. */
  readonly next_cursor: string | null
}

/** The cursors of this page and the previous ones, because a cursor leads only to the next page. */
export interface Place {
  /** The filters of the list. */
  readonly of: unknown
  readonly cursors: readonly string[]
}

interface Pages<Row> {
  readonly page: Loaded<PageOf<Row>>
  readonly cursors: readonly string[]
  readonly go: (cursors: readonly string[]) => void
}

/** Reads one page of a list; another `filters` object starts over. `kept` is the position of an earlier visit, and is updated here. */
export function usePages<Row>(
  read: (query: { readonly cursor?: string }) => Promise<PageOf<Row>>,
  filters: unknown,
  kept?: { place: Place },
): Pages<Row> {
  const [place, setPlace] = useState(kept?.place)
  const cursors = place && place.of === filters ? place.cursors : []
  const cursor = cursors.at(-1)
  const page = useCall(() => read(cursor === undefined ? {} : { cursor }), [filters, cursor])
  const go = (cursors: readonly string[]) => {
    const next = { of: filters, cursors }
    setPlace(next)
    if (kept) kept.place = next
  }
  return { page, cursors, go }
}

interface PagedTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly pages: Pages<Row>
  /** Shown for an empty page if there are older rows. */
  readonly emptyPage: string
}

export function PagedTable<Row>({ pages: { page, cursors, go }, empty, emptyPage, ...table }: PagedTableProps<Row>) {
  const { isLoading } = page
  return (
    <Show of={page}>
      {({ data, next_cursor: next }) => (
        <>
          <Table {...table} rows={data} empty={next === null ? empty : emptyPage} />
          {(cursors.length > 0 || next !== null) && (
            <nav class="buttons" aria-label="Pages">
              <Button text="Newer" isOff={cursors.length === 0 || isLoading} onClick={() => go(cursors.slice(0, -1))} />
              <Button
                text="Older"
                isOff={next === null || isLoading}
                onClick={() => next !== null && go([...cursors, next])}
              />
              <span role="status" class="hint">
                {isLoading ? 'Loading …' : `Page ${cursors.length + 1}`}
              </span>
            </nav>
          )}
        </>
      )}
    </Show>
  )
}
