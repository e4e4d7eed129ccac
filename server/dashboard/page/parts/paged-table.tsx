import { useState } from 'preact/hooks'
import { type Loaded, useCall } from '../call.ts'
import { Button } from './button.tsx'
import type { PageOf } from './rows.ts'
import { Show } from './screen.tsx'
import { Table, type TableProps } from './table.tsx'

interface Pages<Row> {
  readonly page: Loaded<PageOf<Row>>
  /** The cursors of the page and of those before it: a cursor leads only to the next page. */
  readonly cursors: readonly string[]
  readonly go: (cursors: readonly string[]) => void
}

/** Reads one page of a list. New `inputs` start over. */
export function usePages<Row>(
  read: (query: { readonly cursor?: string }) => Promise<PageOf<Row>>,
  inputs: readonly unknown[],
): Pages<Row> {
  const of = JSON.stringify(inputs)
  const [state, set] = useState({ of, cursors: [] as readonly string[] })
  const cursors = state.of === of ? state.cursors : []
  const cursor = cursors.at(-1)
  const page = useCall(() => read(cursor === undefined ? {} : { cursor }), [of, cursor])
  return { page, cursors, go: next => set({ of, cursors: next }) }
}

interface PagedTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly pages: Pages<Row>
  /** Shown for a page without rows if there are older ones. */
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
