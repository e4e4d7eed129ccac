import { explain } from '../../../errors/explain.ts'
import type { Line } from '../../../io/input.ts'
import type { LineResult } from '../../../views/consent.ts'
import type { ColumnMap } from './map.ts'

export const lineFormats = ['ndjson', 'csv', 'tsv'] as const

/** `ids`: one id per line. */
export type LineFormat = (typeof lineFormats)[number] | 'ids'

export function formatOf(file: string): LineFormat {
  const [, extension = ''] = /\.(csv|tsv)$/i.exec(file) ?? []
  return lineFormats.find(format => format === extension.toLowerCase()) ?? 'ndjson'
}

export function formatOfIds(file: string): LineFormat {
  return /\.(csv|tsv|ndjson|jsonl|json)$/i.test(file) ? formatOf(file) : 'ids'
}

export interface LineKind<Fields> {
  readonly noun: string
  /** For CSV; `preferences` also allows `pref.NAME`. */
  readonly fields: readonly string[]
  /** A line without `accepted` records a refusal. */
  readonly silenceRefuses: boolean
  /** Only `id` counts, and must not repeat. */
  readonly isOfIds?: true | undefined
  /** Written by this program: not parsed; the drafts are the defaults. */
  readonly isOwn?: true | undefined
  /** @throws CliError invalid_data; the message begins with `name` */
  check(fields: object, name: string): asserts fields is Fields & object
}

/** Null for a line without fields. @throws CliError invalid_data; the message begins with the line number */
export type LineParser = (line: Line) => object | null

export interface ReaderOptions {
  readonly file: string
  readonly format: LineFormat
  readonly defaults: object
  /** Removes the `'` that `list` adds before formulas. */
  readonly unguard: boolean
  readonly map: ColumnMap
  readonly isResumed: boolean
}

export function toLineResult(
  { number }: Line,
  result: LineResult['result'],
  id: string | null,
  error: unknown,
): LineResult {
  if (error === null) return { line: number, result, id, error_code: null, message: null }
  const { code, message } = explain(error)
  return { line: number, result, id, error_code: code, message: withoutName(message, `line ${number}`) }
}

/** The line number is a field of its own. */
function withoutName(message: string, name: string): string {
  const separator = [': ', ' '].find(each => message.startsWith(name + each))
  return separator === undefined ? message : message.slice(name.length + separator.length)
}
