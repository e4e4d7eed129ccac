import type { Tone } from './palette.ts'

export type Cell = string | number | boolean | null | object

export interface Column<Row> {
  readonly name: string
  value(row: Row): Cell
  /** Text for tables. */
  readonly title?: string
  /** Replaces the value in tables. */
  text?(row: Row): string
  tone?(row: Row): Tone | undefined
  /** Replaces `text` in narrow tables. */
  brief?(row: Row): string
  /** Minimum width in cells, because later rows may be wider. */
  readonly minWidth?: number
  /** Never truncated, because people copy it. */
  readonly whole?: boolean
  /** Replaces the value in CSV, where an import reads it. */
  source?(row: Row): Cell
  /** Each key becomes a column, named by the prefix and the key. */
  readonly parts?: {
    readonly prefix: string
    of(row: Row): Readonly<Record<string, unknown>> | null | undefined
    /** Shows each key on a line of its own in details. */
    readonly isSpread?: boolean
  }
  /** In TSV and CSV only on request, because scripts count columns. */
  readonly onRequest?: boolean
  /** Shown in details only on request. */
  readonly aside?: boolean
  /** Shown only once: column selection must include it. */
  readonly once?: boolean
  /** True for credentials; implied by `once`. */
  readonly secret?: boolean
  /** The lowest rank is shown first; the highest are omitted first. Without a rank: only with `wide`. */
  readonly rank?: number
}

/** Scripts rely on the order of the columns. */
export interface View<Row> {
  /** Wraps lines rather than omit a ranked column. */
  readonly keepsAll?: true
  readonly columns: readonly Column<Row>[]
  id(row: Row): string
}

export interface Renderer<Row> {
  begin(): string
  rows(rows: readonly Row[]): string
  end(): string
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
  /** Typed formats show only the selected columns. */
  readonly chosen?: boolean
  /** Truncates, wraps and omits nothing in tables. */
  readonly uncut?: boolean
  /** Shows every column in full in tables. */
  readonly wide?: boolean
  readonly unguarded?: boolean
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
