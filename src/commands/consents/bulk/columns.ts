import { formatCount } from '../../../cli/messages.ts'
import type { Context } from '../../../context.ts'
import { dataError, usageError } from '../../../errors/errors.ts'
import { type Delimiter, findColumn, fold, missingColumn, type Table, tableOpener } from '../../../io/csv.ts'
import type { Line } from '../../../io/input.ts'
import { readObject, typed } from '../fields.ts'
import {
  type ColumnMap,
  circumstanceName,
  commonWords,
  fieldNames,
  namedWords,
  preferenceName,
  type WordReader,
} from './map.ts'

interface Place {
  readonly index: number
  readonly field: string
}

type Fields = Record<string, unknown>
type Setter = (cell: string, where: string, fields: Fields, preferences: Fields) => void

export interface CsvKind {
  readonly noun: string
  /** `preferences` also allows `pref.NAME`. */
  readonly fields: readonly string[]
  /** A line without `accepted` records a refusal. */
  readonly silenceRefuses: boolean
  /** Uses only `id`, which must not repeat. */
  readonly isOfIds?: true | undefined
}

export interface CsvOptions {
  /** Removes the `'` that `list` adds before formulas. */
  readonly unguard: boolean
  readonly map: ColumnMap
  readonly isResumed: boolean
}

/** Null for a line without fields. @throws CliError invalid_data; the message begins with the line number */
export type LineParser = (line: Line, index: number) => object | null

/** Parses the lines of a chunk, of which each has its index: starting a CSV parser takes longer than parsing a line. */
export type ChunkParser = (lines: readonly Line[]) => LineParser

type CsvReading = CsvKind & Pick<CsvOptions, 'map'>

export function openCsv(ctx: Context, kind: CsvKind, options: CsvOptions, delimiter: Delimiter | undefined) {
  const { fields, silenceRefuses, isOfIds } = kind
  const { map, unguard } = options
  const reading = { ...kind, map }
  const mapped = new Set(Object.values(map.fields ?? {}).map(column => fold(column ?? '')))
  const isKnown = (name: string) => mapped.has(fold(name)) || fieldOf(name, fields) !== undefined
  const openTable = tableOpener({ delimiter, isKnown, unguard })
  const named = namedWords(Object.entries(map.values))
  let table: Table | null = null
  let places: Place[] = []
  /** Only the first reading of a new job warns. */
  let [isHeaderTold, isTold] = [options.isResumed, options.isResumed]
  let unanswered = 0
  /** Columns whose yes or no was kept as text, with an example. */
  const keptWords = new Map<string, string>()
  const hasAnswer = () => places.some(({ field }) => field === 'accepted')
  const tellHeader = async (header: readonly string[]) => {
    if (isHeaderTold || (map.fields === null && !isOfIds)) return
    isHeaderTold = true
    const unused = unusedColumns(header, places, reading)
    const why = map.fields === null ? '' : ', because the map does not name them'
    if (unused.length > 0) await ctx.warn(`not used${why}: ${quoteAll(unused)}`)
    if (silenceRefuses && !hasAnswer())
      await ctx.warn('no column is mapped to "accepted", so every line records a refusal')
  }
  /** An empty cell is a missing field. */
  const toParser = ({ header, cellsOfAll }: Table): ChunkParser => {
    const setters = places.map(({ index, field }) => {
      const column = nameColumn(header, index)
      return { index, column, set: toSetter(field, named, word => keptWords.set(column, word)) }
    })
    const toFields = ({ number }: Line, row: readonly string[]) => {
      if (row.every(cell => cell === '')) return null // as at the end of spreadsheets
      const fields: Fields = {}
      const preferences: Fields = {}
      for (const { index, column, set } of setters) {
        const cell = row[index] ?? ''
        if (cell !== '') set(cell, `line ${number}: ${column}`, fields, preferences)
      }
      if (fields['accepted'] === undefined) unanswered += 1
      return withPreferences(fields, preferences)
    }
    return lines => {
      const rows = cellsOfAll(lines)
      return (line, index) => {
        const row = rows[index] as readonly string[] | Error
        if (row instanceof Error) throw row
        return toFields(line, row)
      }
    }
  }
  return {
    /** Null if there is no header yet. @throws CliError if it is invalid or does not fit the map */
    take: async (lines: Line[]): Promise<ChunkParser | null> => {
      table = await openTable(lines)
      if (!table) return null
      places = placeColumns(table.header, reading)
      await tellHeader(table.header)
      return toParser(table)
    },
    raw: () => table?.raw ?? null,
    end: async () => {
      if (isTold) return
      isTold = true
      if (silenceRefuses && map.fields !== null && hasAnswer() && unanswered > 0)
        await ctx.warn(`without an answer, so recorded as a refusal: ${formatCount(unanswered, 'line')}`)
      for (const [column, word] of keptWords)
        await ctx.warn(
          `"${word}" in ${column} is kept as text: to read it as true or false, add it to --true or --false`,
        )
    },
  }
}

/** @throws UsageError */
export function requireNoHeader({ number, bytes }: Line, name: string, fields: readonly string[]): void {
  const text = bytes.toString()
  if (/^\s*[{[]/.test(text)) return
  const names = text.split(/[,;\t]/).map(name => name.trim().replace(/^"(.*)"$/, '$1'))
  if (!names.some(name => fieldOf(name, fields) !== undefined)) return
  throw usageError(
    `line ${number} of ${name} is not JSON but looks like a CSV header, so nothing was sent`,
    'read it as CSV: --format csv',
  )
}

function quoteAll(names: readonly string[]): string {
  const shown = names.slice(0, 10).map(name => `"${name}"`)
  return shown.join(', ') + (names.length > shown.length ? ` and ${names.length - shown.length} more` : '')
}

function unusedColumns(header: readonly string[], places: readonly Place[], reading: CsvReading): string[] {
  const used = new Set(places.map(({ index }) => index))
  const isUnused = (name: string, index: number) => !used.has(index) && !isNamed(fieldOf(name, reading.fields), reading)
  return header.flatMap((name, index) => (isUnused(name, index) ? [nameColumn(header, index)] : []))
}

/** Applies the map; a field may have no column. */
function isNamed(field: string | undefined, { map }: CsvReading): boolean {
  return field !== undefined && map.fields !== null && Object.hasOwn(map.fields, field)
}

function withPreferences(fields: Fields, preferences: Fields): Fields {
  if (Object.keys(preferences).length === 0) return fields
  return { ...fields, preferences: { ...(fields['preferences'] as object | undefined), ...preferences } }
}

/** Ignores case and blanks. */
export function fieldOf(column: string, fields: readonly string[]): string | undefined {
  const name = fold(column).replace(/\s+/g, '_')
  if (fields.includes(name)) return name
  if (circumstanceName(name) !== undefined && fields.includes('circumstances')) return name
  const preference = preferenceName(column)
  return preference !== undefined && fields.includes('preferences') ? `pref.${preference}` : undefined
}

/** The map has precedence over column names. @throws UsageError */
function placeColumns(header: readonly string[], reading: CsvReading): Place[] {
  const { fields, noun, isOfIds, map } = reading
  const places = Object.entries(map.fields ?? {}).flatMap(([field, column]) =>
    column === null ? [] : [{ field, index: placeOf(header, column) }],
  )
  const named: Place[] = []
  for (const [index, column] of header.entries()) {
    const field = fieldOf(column, fields)
    if (field === undefined && map.fields === null && !isOfIds)
      throw unknownColumn(nameColumn(header, index), fields, noun)
    if (field === undefined || isNamed(field, reading) || places.some(place => place.index === index)) continue
    if (named.some(place => place.field === field)) throw usageError(`the header contains the column "${column}" twice`)
    named.push({ index, field })
  }
  return [...places, ...named]
}

function unknownColumn(column: string, fields: readonly string[], noun: string) {
  return usageError(
    `the header's "${column}" is not a field of ${noun}`,
    fields.includes('id')
      ? `name the columns that count, such as --map id=ID,accepted=Status, or use ${fieldNames(fields)}`
      : `map the columns with --map (--map-out FILE writes a map to edit), or use ${fieldNames(fields)}`,
  )
}

function placeOf(header: readonly string[], column: string): number {
  const index = findColumn(header, column)
  if (index === -1) throw missingColumn(header, column)
  return index
}

function nameColumn(header: readonly string[], index: number): string {
  return header[index]?.trim() || `column ${index + 1}`
}

function toSetter(field: string, named: WordReader, keep: (word: string) => unknown): Setter {
  const preference = preferenceName(field)
  if (preference !== undefined) {
    return (cell, where, _, preferences) => {
      const value = decided(named, cell, where) ?? typed(cell, where)
      if (value === cell && commonWords(cell) !== undefined) keep(cell)
      preferences[preference] = value
    }
  }
  const circumstance = circumstanceName(field)
  if (circumstance !== undefined) {
    return (cell, _where, fields) => {
      fields['circumstances'] = { ...(fields['circumstances'] as object | undefined), [circumstance]: cell }
    }
  }
  if (field === 'accepted') {
    return (cell, where, fields) => {
      const value = decided(named, cell, where) ?? commonWords(cell)
      if (value === undefined) throw notAWord(cell, where)
      fields[field] = value
    }
  }
  return (cell, where, fields) => {
    fields[field] = converters[field]?.(cell, where) ?? cell
  }
}

/** Undefined for a value that is not in the map. @throws CliError invalid_data for an undecided value, which may look like a yes */
function decided(named: WordReader, word: string, where: string): boolean | undefined {
  const value = named(word)
  if (value !== null) return value
  throw dataError(`${where}: the map leaves "${word}" undecided`, 'make it "yes" or "no" in the map')
}

function notAWord(word: string, where: string) {
  return dataError(`${where}: "${word}" is neither yes nor no`, 'add the value to --true or --false, or to the map')
}

const converters: Readonly<Record<string, (cell: string, where: string) => unknown>> = {
  policy_version: (cell, where) => {
    if (!/^\d{1,10}$/.test(cell)) throw dataError(`${where} must be a whole number from 1`)
    return Number(cell)
  },
  preferences: (cell, where) => readObject(cell, where),
  circumstances: (cell, where) => readObject(cell, where),
}
