import type { Cell, Column } from '../output/index.ts'

/** A column that shows a field as the API has it, unless said otherwise. */
export function field<Row>(name: keyof Row & string, column: Partial<Column<Row>> = {}): Column<Row> {
  return { name, value: row => (row[name] ?? null) as Cell, ...column }
}

/** `2026-11-20 18:45Z`: a time to the minute, for people. */
export function minute(instant: string | null | undefined): string {
  return (instant ?? '').replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z$/, '$1 $2Z')
}

/** `2026-11-20 18:45:07Z`: a time to the second, for people. */
export function second(instant: string): string {
  return instant.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/, '$1 $2Z')
}
