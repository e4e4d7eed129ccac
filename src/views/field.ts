import { type Cell, type Column, toneOf } from '../output/index.ts'

export function field<Row>(name: keyof Row & string, column: Partial<Column<Row>> = {}): Column<Row> {
  return { name, value: row => (row[name] ?? null) as Cell, ...column }
}

export function stateField<Row>(name: keyof Row & string, column: Partial<Column<Row>> = {}): Column<Row> {
  return field(name, { whole: true, tone: row => toneOf(row[name]), ...column })
}

/** `2026-11-20 18:45Z`. */
export function minute(instant: string | null | undefined): string {
  return (instant ?? '').replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z$/, '$1 $2Z')
}

/** `2026-11-20` (UTC). */
export function day(instant: string | null | undefined): string {
  return minute(instant).slice(0, 'yyyy-mm-dd'.length)
}

/** `2026-11-20 18:45:07Z`. */
export function second(instant: string): string {
  return instant.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/, '$1 $2Z')
}
