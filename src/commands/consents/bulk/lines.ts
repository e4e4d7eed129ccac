import type { Line } from '../../../io/input.ts'
import type { ColumnMap } from './map.ts'

export const lineFormats = ['ndjson', 'csv', 'tsv'] as const

/** `ids`: an id a line, and nothing else. */
export type LineFormat = (typeof lineFormats)[number] | 'ids'

/** By the name of a file. */
export function formatOf(file: string): LineFormat {
  const [, extension = ''] = /\.(csv|tsv)$/i.exec(file) ?? []
  return lineFormats.find(format => format === extension.toLowerCase()) ?? 'ndjson'
}

/** By the name of a file, whose lines are ids unless it says otherwise. */
export function formatOfIds(file: string): LineFormat {
  return /\.(csv|tsv|ndjson|jsonl|json)$/i.test(file) ? formatOf(file) : 'ids'
}

/** The lines that a command takes: new records, or changes. */
export interface LineKind<Fields> {
  /** `a new record` */
  readonly noun: string
  /** The columns of a CSV; with `preferences` also `pref.NAME`. */
  readonly fields: readonly string[]
  /** A line without `accepted` records a refusal. */
  readonly silenceRefuses: boolean
  /** Only the `id` of a line counts: other columns are left, and a file names a record once. */
  readonly isOfIds?: true | undefined
  /** This program has written the lines, and no user: they are not parsed, so that their drafts are the defaults alone. */
  readonly isOwn?: true | undefined
  /** @throws CliError invalid_data that begins with `name` */
  check(fields: object, name: string): asserts fields is Fields & object
}

/** Returns the fields of a line, or null if it has none. @throws CliError invalid_data that begins with the line's number */
export type LineParser = (line: Line) => object | null

export interface ReaderOptions {
  readonly file: string
  readonly format: LineFormat
  /** Of lines that do not have them. */
  readonly defaults: object
  /** CSV: removes the `'` that list puts before formulas. */
  readonly unguard: boolean
  readonly map: ColumnMap
  readonly isResumed: boolean
}
