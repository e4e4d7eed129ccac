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
  /** In tables: which columns stay when the terminal is narrow, lowest first; without a rank it is not in tables. */
  readonly rank?: number
}

/** How a resource looks; columns in the order of the TSV, which scripts rely on. */
export interface View<Row> {
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
}

export type Format = <Row>(view: View<Row>, options: RenderOptions) => Renderer<Row>

/** A value as one line of text, for formats without types. */
export function plain(value: Cell): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
