import type { Line } from '../../../io/input.ts'
import type { ColumnMap } from './map.ts'

export const lineFormats = ['ndjson', 'csv', 'tsv'] as const

/** `ids`: one id per line. */
export type LineFormat = (typeof lineFormats)[number] | 'ids'

export function formatOf(file: string): LineFormat {
  const [, extension = ''] = /\.(csv|tsv)$/i.exec(file) ?? []
  return lineFormats.find(format => format === extension.toLowerCase()) ?? 'ndjson'
}

/** Guesses the format of a file of ids from its name. Default: `ids`. */
export function formatOfIds(file: string): LineFormat {
  return /\.(csv|tsv|ndjson|jsonl|json)$/i.test(file) ? formatOf(file) : 'ids'
}

export interface LineKind<Fields> {
  /** Such as `a new record`. */
  readonly noun: string
  /** CSV columns; `preferences` also allows `pref.NAME`. */
  readonly fields: readonly string[]
  /** True if a line without `accepted` records a refusal. */
  readonly silenceRefuses: boolean
  /** True if only the `id` counts: other columns are ignored, and a repeated id is an error. */
  readonly isOfIds?: true | undefined
  /** True if this program wrote the lines: they are not parsed, and their drafts are the defaults alone. */
  readonly isOwn?: true | undefined
  /** @throws CliError invalid_data with a message that begins with `name` */
  check(fields: object, name: string): asserts fields is Fields & object
}

/**
 * Returns the fields of a line, or null if it has none. @throws CliError invalid_data with a message that begins with the line
 * number
 */
export type LineParser = (line: Line) => object | null

export interface ReaderOptions {
  readonly file: string
  readonly format: LineFormat
  /** Field values for lines that omit them. */
  readonly defaults: object
  /** True removes the `'` that `list` puts before formulas in CSV. */
  readonly unguard: boolean
  readonly map: ColumnMap
  readonly isResumed: boolean
}
