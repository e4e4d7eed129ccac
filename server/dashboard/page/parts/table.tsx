import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { formatNumber } from './text.tsx'

/** Cells by column title. The first column names the row. Numbers are formatted. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => ComponentChildren>>

export interface TableProps<Row> {
  readonly label: string
  readonly isTitled?: boolean
  readonly note?: string
  readonly columns: Columns<Row>
  readonly rows: readonly Row[]
  /** Shown if there are no rows; if omitted, nothing is shown. */
  readonly empty?: string | undefined
}

/** More rows take seconds to lay out. */
const rowsAtOnce = 100

export function Table<Row>({ rows, empty, isTitled, note, ...table }: TableProps<Row>) {
  const [most, setMost] = useState(rowsAtOnce)
  if (rows.length === 0 && !empty) return null
  const left = rows.length - most
  return (
    <>
      {isTitled && <h2>{table.label}</h2>}
      {note && <p>{note}</p>}
      {rows.length === 0 ? <p class="empty">{empty}</p> : <Rows {...table} rows={rows.slice(0, most)} />}
      {left > 0 && (
        <p class="buttons">
          <Button text={`Show ${Math.min(left, rowsAtOnce)} more`} onClick={() => setMost(most + rowsAtOnce)} />
          <Button text={`Show all ${formatNumber(rows.length)}`} onClick={() => setMost(rows.length)} />
        </p>
      )}
    </>
  )
}

function Rows<Row>({ label, columns, rows }: Omit<TableProps<Row>, 'empty'>) {
  const titles = Object.keys(columns)
  const cells = rows.map(row => Object.values(columns).map(cell => cell(row)))
  const classes = titles.map((_, place) => (cells.some(row => typeof row[place] === 'number') ? 'number' : undefined))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {titles.map((title, place) => (
              <th scope="col" class={classes[place]} key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cells.map((row, index) => (
            <tr key={index}>
              {row.map((cell, place) => {
                const content = typeof cell === 'number' ? formatNumber(cell) : cell
                const props = { class: classes[place], children: content, key: place }
                return place === 0 ? <th scope="row" {...props} /> : <td {...props} />
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

interface DetailsProps {
  /** Values by their names; false, null and undefined are left out. */
  readonly of: Readonly<Record<string, ComponentChildren>>
  readonly class?: string
}

export function Details({ of, class: name }: DetailsProps) {
  const rows = Object.entries(of).filter(([, value]) => value !== false && value !== null && value !== undefined)
  return (
    <dl class={name}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
