import type { Tone } from './palette.ts'

export type Cell = string | number | boolean | null | object

export interface Column<Row> {
  readonly name: string
  value(row: Row): Cell
  /** A shorter name, for tables. */
  readonly title?: string
  /** For tables, instead of the plain value. */
  text?(row: Row): string
  /** For tables: the colour of a state, beside its word. */
  tone?(row: Row): Tone | undefined
  /** For tables without room for the column: shorter than `text`. */
  brief?(row: Row): string
  /** For tables: cells of the widest value, if later rows may have it. */
  readonly minWidth?: number
  /** Never cut, because people copy it. */
  readonly whole?: boolean
  /** For CSV, instead of the value: what an import reads as this value. */
  source?(row: Row): Cell
  /** Of objects: a column for each key can be requested as PREFIX and its name. */
  readonly parts?: {
    readonly prefix: string
    of(row: Row): Readonly<Record<string, unknown>> | null | undefined
    /** For tables of one row: a line for each key. */
    readonly isSpread?: boolean
  }
  /** For TSV and CSV: only if it is requested, because scripts count columns. */
  readonly onRequest?: boolean
  /** For tables of one row: long, and for programs, so that only `wide` or its name shows it. */
  readonly aside?: boolean
  /** Shown only now, so that no choice of columns may leave it out. */
  readonly once?: boolean
  /** Authenticates its holder; `once` implies it. */
  readonly secret?: boolean
  /** For tables: lower ranks stand first, and stay on narrow terminals; columns without a rank are shown by `wide` alone. */
  readonly rank?: number
}

/** Scripts rely on the order of the columns. */
export interface View<Row> {
  /** Tables: shows every column with a rank, even if lines wrap. */
  readonly keepsAll?: true
  readonly columns: readonly Column<Row>[]
  id(row: Row): string
}

export interface Renderer<Row> {
  begin(): string
  rows(rows: readonly Row[]): string
  end(): string
  /** Names of columns that have values in the rows so far and are not shown. */
  leftOut?(): string[]
}

export function rowsOnly<Row>(rows: Renderer<Row>['rows']): Renderer<Row> {
  return { begin: () => '', rows, end: () => '' }
}

export interface RenderOptions {
  /** False for a list of one. */
  readonly single: boolean
  readonly columns: number
  readonly color: boolean
  readonly header: boolean
  /** The columns were requested: all are shown, and typed formats show only these. */
  readonly chosen?: boolean
  /** Tables: nothing is cut or wrapped, and columns with a rank are not left out. */
  readonly uncut?: boolean
  /** Tables: every column, uncut. */
  readonly wide?: boolean
  /** CSV: formulas are not guarded. */
  readonly unguarded?: boolean
  /** CSV for spreadsheets: the separator that they want. */
  readonly spreadsheet?: ',' | ';' | undefined
  /** CSV: unsafe characters are escaped. */
  readonly isTerminal?: boolean
}

export type Format = <Row>(view: View<Row>, options: RenderOptions) => Renderer<Row>

/** For formats with types: the whole row, or the requested columns. */
export function typed<Row>({ columns }: View<Row>, { chosen }: RenderOptions): (row: Row) => unknown {
  return chosen ? row => Object.fromEntries(columns.map(column => [column.name, column.value(row)])) : row => row
}

/** For TSV and CSV: the columns without those that are shown on request. */
export function cellColumns<Row>({ columns }: View<Row>, { chosen }: RenderOptions): readonly Column<Row>[] {
  return chosen ? columns : columns.filter(({ onRequest }) => !onRequest)
}

/** True for a value that people need not see. */
export function isEmpty(value: Cell): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
}

export function plain(value: Cell): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export const formatNames = ['table', 'tsv', 'json', 'ndjson', 'csv', 'yaml', 'id', 'wide'] as const

export type FormatName = (typeof formatNames)[number]
