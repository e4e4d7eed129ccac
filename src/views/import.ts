import { toneOf, type View } from '../output/index.ts'
import { field } from './field.ts'

export interface ImportedRow {
  readonly receipt: string
  readonly number: number
  readonly job: string
  /** Of the input files. */
  readonly read: number
  readonly left_out: number
  readonly refused_rows: number
  readonly made: number
  readonly known: number
  readonly refused: number
  readonly first_given_at: string | null
  readonly last_given_at: string | null
}

export const importedView: View<ImportedRow> = {
  id: row => row.receipt,
  columns: [
    field('receipt', { whole: true, rank: 1 }),
    field('number'),
    field('job'),
    field('read', { rank: 5 }),
    field('left_out', { rank: 6 }),
    field('refused_rows', { rank: 7 }),
    field('made', { rank: 2 }),
    field('known', { rank: 3 }),
    field('refused', { rank: 4 }),
    field('first_given_at'),
    field('last_given_at'),
  ],
}

/** A value that a map must translate. */
export interface ValueRow {
  readonly table: string
  readonly value: string
  readonly count: number
  readonly column: string
  /** The first row with it. */
  readonly first: string
  /** Null without an entry in the map. */
  readonly becomes: string | number | null
}

export const valueView: View<ValueRow> = {
  id: row => row.value,
  columns: [
    field('table', { whole: true, rank: 3 }),
    field('value', { text: row => (row.value === '' ? '(not given)' : row.value), rank: 1 }),
    field('count', { whole: true, rank: 4 }),
    field('becomes', {
      text: row => String(row.becomes ?? 'NOT DECIDED'),
      tone: row => toneOf(row.becomes === null ? 'refused' : ''),
      whole: true,
      rank: 2,
    }),
    field('column', { rank: 5 }),
    field('first', { rank: 6 }),
  ],
}
