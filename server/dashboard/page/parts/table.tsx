import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
}

interface TableProps<Row> {
  /** Announced by a screen reader. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** Shown instead of no rows. */
  readonly empty: string
}

/** A table that scrolls sideways by itself where it is wider than the screen. The first column names the row. */
export function Table<Row>({ label, columns, rows, rowKey, empty }: TableProps<Row>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>
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

/** Names and values of one thing. */
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
