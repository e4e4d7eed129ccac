import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { formatNumber } from './text.tsx'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
}

interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly empty: string
  /** True to show the last rows, and earlier ones on request. */
  readonly isFromEnd?: boolean
}

/** More rows take seconds to lay out. */
const rowsAtOnce = 100

/** A table that scrolls sideways if it is too wide, and shows more rows on request. The first column names the row. */
export function Table<Row>({ rows, empty, isFromEnd, ...table }: TableProps<Row>) {
  const [most, setMost] = useState(rowsAtOnce)
  if (rows.length === 0) return <p class="empty">{empty}</p>
  const left = rows.length - most
  const more = left > 0 && (
    <p class="buttons">
      <button type="button" onClick={() => setMost(most + rowsAtOnce)}>
        Show {Math.min(left, rowsAtOnce)} more
      </button>
      <button type="button" onClick={() => setMost(rows.length)}>
        Show all {formatNumber(rows.length)}
      </button>
    </p>
  )
  return (
    <>
      {isFromEnd && more}
      <Rows {...table} rows={isFromEnd ? rows.slice(-most) : rows.slice(0, most)} />
      {!isFromEnd && more}
    </>
  )
}

function Rows<Row>({ label, columns, rows, rowKey }: Omit<TableProps<Row>, 'empty'>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th scope="col" class={isNumber ? 'number' : undefined} key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={rowKey(row)}>
              {columns.map(({ title, cell, isNumber }, index) =>
                index === 0 ? (
                  <th scope="row" key={title}>
                    {cell(row)}
                  </th>
                ) : (
                  <td class={isNumber ? 'number' : undefined} key={title}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

export function Details({ rows }: { readonly rows: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
