/** A value as the API has it. */
export type Cell = string | number | boolean | null | object

export interface Column<Row> {
  readonly name: string
  value(row: Row): Cell
  /** Shorter name in tables. */
  readonly title?: string
  /** Text in tables, if it is not the plain value. */
  text?(row: Row): string
  /** Never cut in tables, because people copy it. */
  readonly whole?: boolean
  /** Shown only once, so that no choice of columns may leave it out. */
  readonly once?: boolean
  /** In tables, lower ranks stay when the terminal is narrow; a column without a rank is not shown. */
  readonly rank?: number
}

/** The columns of a resource, in the order of the TSV, on which scripts rely. */
export interface View<Row> {
  /** In tables: show every column, even if lines wrap. */
  readonly keepsAll?: true
  readonly columns: readonly Column<Row>[]
  id(row: Row): string
}

export interface Renderer<Row> {
  begin(): string
  rows(rows: readonly Row[]): string
  end(): string
}

export interface RenderOptions {
  /** True for one requested record, false for a list of one. */
  readonly single: boolean
  readonly columns: number
  readonly color: boolean
  /** Adds a header if the format has an optional one. */
  readonly header: boolean
  /** The view's columns were requested: all are shown, and typed formats show only these. */
  readonly chosen?: boolean
  /** Tables: nothing is cut, wrapped or left out. */
  readonly uncut?: boolean
  /** CSV: cells that a spreadsheet takes for a formula stay as they are. */
  readonly unguarded?: boolean
  /** Formats that pass text through must escape it for a terminal. */
  readonly isTerminal?: boolean
}

export type Format = <Row>(view: View<Row>, options: RenderOptions) => Renderer<Row>

/** Converts a row for typed formats: whole, or only the requested columns in their order. */
export function typed<Row>({ columns }: View<Row>, { chosen }: RenderOptions): (row: Row) => unknown {
  return chosen
    ? row => Object.fromEntries(columns.map(column => [column.name, column.value(row)]))
    : row => row
}

/** Formats a value as one line of text. */
export function plain(value: Cell): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export const formatNames = ['table', 'tsv', 'json', 'ndjson', 'csv', 'yaml', 'id'] as const

export type FormatName = (typeof formatNames)[number]
