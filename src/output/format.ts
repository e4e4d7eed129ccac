/** What a column shows: a value as the API has it. */
export type Cell = string | number | boolean | null | object

export interface Column<Row> {
  /** The field's name, as the API has it. */
  readonly name: string
  value(row: Row): Cell
  /** In tables: a shorter name. */
  readonly title?: string
  /** In tables: how to write the value for people, where its plain text is not it. */
  text?(row: Row): string
  /** In tables: never cut, for it is copied by hand. */
  readonly whole?: boolean
  /** Shown this once and kept nowhere, so that no choice of columns may leave it out. */
  readonly once?: boolean
  /** In tables: which columns stay when the terminal is narrow, lowest first; without a rank it is not in tables. */
  readonly rank?: number
}

/** How a resource looks; columns in the order of the TSV, which scripts rely on. */
export interface View<Row> {
  /** In tables: whether every column is shown, though lines then run over. */
  readonly keepsAll?: true
  readonly columns: readonly Column<Row>[]
  id(row: Row): string
}

export interface Renderer<Row> {
  begin(): string
  /** Some rows more, as text. */
  rows(rows: readonly Row[]): string
  end(): string
}

export interface RenderOptions {
  /** One row by itself rather than a list of one. */
  readonly single: boolean
  readonly columns: number
  readonly color: boolean
  /** A first line with the columns' names, where the format has it by choice. */
  readonly header: boolean
  /** The view's columns were asked for: each is shown, and formats with types show these and nothing else of a row. */
  readonly chosen?: boolean
  /** In tables: nothing is cut, wrapped or left out. */
  readonly uncut?: boolean
  /** In CSV: cells that a spreadsheet takes for a formula stay as they are. */
  readonly unguarded?: boolean
  /** Somebody watches: formats that would send a terminal what they were given make it visible. */
  readonly isTerminal?: boolean
}

export type Format = <Row>(view: View<Row>, options: RenderOptions) => Renderer<Row>

/** A row for formats with types: whole, or the columns asked for in their order. */
export function typed<Row>({ columns }: View<Row>, { chosen }: RenderOptions): (row: Row) => unknown {
  return chosen
    ? row => Object.fromEntries(columns.map(column => [column.name, column.value(row)]))
    : row => row
}

/** A value as one line of text, for formats without types. */
export function plain(value: Cell): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The formats that rows can be printed in. */
export const formatNames = ['table', 'tsv', 'json', 'ndjson', 'csv', 'yaml', 'id'] as const

export type FormatName = (typeof formatNames)[number]
