import type { Tone } from './palette.ts'

export type Cell = string | number | boolean | null | object

export interface Column<Row> {
  readonly name: string
  value(row: Row): Cell
  /** Shorter name in tables. */
  readonly title?: string
  /** Replaces the plain value in tables. */
  text?(row: Row): string
  tone?(row: Row): Tone | undefined
  /** Replaces `text` in tables without room. */
  brief?(row: Row): string
  /** Minimum width in tables, in cells, because later rows may have wider values. */
  readonly minWidth?: number
  /** True if never cut, because people copy it. */
  readonly whole?: boolean
  /** Replaces the value in CSV: an import reads it as this value. */
  source?(row: Row): Cell
  /** Makes each key of an object a column, named by the prefix and the key. */
  readonly parts?: {
    readonly prefix: string
    of(row: Row): Readonly<Record<string, unknown>> | null | undefined
    /** True if a table of one row has a line for each key. */
    readonly isSpread?: boolean
  }
  /** True if shown in TSV and CSV only on request, because scripts count columns. */
  readonly onRequest?: boolean
  /** True if shown in a table of one row only on request: long, and for programs. */
  readonly aside?: boolean
  /** True if shown only once: no choice of columns may leave it out. */
  readonly once?: boolean
  /** True for credentials; implied by `once`. */
  readonly secret?: boolean
  /** Position in tables, lowest first; the highest are left out first. Columns without a rank need `wide`. */
  readonly rank?: number
}

/** Scripts rely on the order of the columns. */
export interface View<Row> {
  /** True if lines may wrap rather than leave out a column with a rank. */
  readonly keepsAll?: true
  readonly columns: readonly Column<Row>[]
  id(row: Row): string
}

export interface Renderer<Row> {
  begin(): string
  rows(rows: readonly Row[]): string
  end(): string
  /** Returns columns with values in the rows so far that are not shown. */
  leftOut?(): string[]
}

export function rowsOnly<Row>(rows: Renderer<Row>['rows']): Renderer<Row> {
  return { begin: () => '', rows, end: () => '' }
}

export interface RenderOptions {
  /** False for a list with one row. */
  readonly single: boolean
  readonly columns: number
  readonly color: boolean
  readonly header: boolean
  /** True if the columns were requested. Typed formats show only these. */
  readonly chosen?: boolean
  /** Tables: nothing is cut, wrapped or left out. */
  readonly uncut?: boolean
  /** Tables: every column, uncut. */
  readonly wide?: boolean
  readonly unguarded?: boolean
  /** CSV for spreadsheets: their separator. */
  readonly spreadsheet?: ',' | ';' | undefined
  readonly isTerminal?: boolean
}

export type Format = <Row>(view: View<Row>, options: RenderOptions) => Renderer<Row>

export function typed<Row>({ columns }: View<Row>, { chosen }: RenderOptions): (row: Row) => unknown {
  return chosen ? row => Object.fromEntries(columns.map(column => [column.name, column.value(row)])) : row => row
}

export function cellColumns<Row>({ columns }: View<Row>, { chosen }: RenderOptions): readonly Column<Row>[] {
  return chosen ? columns : columns.filter(({ onRequest }) => !onRequest)
}

export function isEmpty(value: Cell): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
}

export function plain(value: Cell): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export const formatNames = ['table', 'tsv', 'json', 'ndjson', 'csv', 'yaml', 'id', 'wide'] as const

export type FormatName = (typeof formatNames)[number]
