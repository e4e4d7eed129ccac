import { isUtf8 } from 'node:buffer'
import { parseExactJson } from '../../../../contract/exact-json.ts'
import { storable } from '../../../../contract/values.ts'
import { dataError, usageError } from '../../../../errors/errors.ts'
import { findColumn, fold, missingColumn, NoRow, type Table, tableOpener } from '../../../../io/csv.ts'
import { encodingHint, toUtf8 } from '../../../../io/encoding.ts'
import { decode, hasText, type Line, splitTogether } from '../../../../io/input.ts'
import { readObject } from '../../fields.ts'
import { splitArray } from './json-array.ts'
import type { Container, ImportMap } from './map.ts'
import type { Reason } from './prepared.ts'
import type { Part } from './source.ts'

export interface ReadRow {
  readonly number: number
  /** Null if its cells are unreadable. */
  readonly row: Row | null
  readonly problem: string | null
}

export interface Batch {
  /** Object with the fields of a part. */
  readonly columns: Columns
  readonly rows: readonly ReadRow[]
}

interface Reading {
  readonly map: ImportMap
  /** Removes the `'` before formulas in CSV. */
  readonly unguard: boolean
}

/** @throws CliError invalid_data for a damaged container */
export function readRows(part: Part, { map, unguard }: Reading): AsyncGenerator<Batch> {
  const { container } = map
  if (container.kind === 'csv') return csvRows(part, map, unguard)
  const utf8 = toUtf8(part.chunks, part.name, container.encoding)
  const lines =
    container.kind === 'json'
      ? splitArray(utf8, container.at ? container.at.split('.') : [], part.name)
      : splitTogether(utf8, part.name)
  return jsonRows(lines, container.each)
}

async function* jsonRows(batches: AsyncIterable<readonly Line[]>, each: string | undefined): AsyncGenerator<Batch> {
  const get = each === undefined ? null : jsonColumns.getter(each)
  for await (const lines of batches) {
    const rows = lines.filter(hasText).map(line => attempt(line, () => parse(line.bytes)))
    yield { columns: jsonColumns, rows: get ? rows.flatMap(row => elementsOf(row, get)) : rows }
  }
}

function elementsOf(read: ReadRow, get: Getter): ReadRow[] {
  const { number, row } = read
  const array = row && get(row)
  if (!Array.isArray(array)) return [read]
  return array.map((element: unknown) =>
    isObject(element)
      ? { number, row: { ...row, ...element }, problem: null }
      : { number, row, problem: 'has an element that is not an object' },
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parse(bytes: Buffer): Row {
  return readObject(decode(bytes, 'it'), 'it')
}

async function* csvRows(part: Part, map: ImportMap, unguard: boolean): AsyncGenerator<Batch> {
  const { name } = part
  const { delimiter, columns, encoding } = map.container
  const openTable = tableOpener({ delimiter, columns, isKnown: knownNames(map), unguard })
  let reading: ReturnType<typeof openReading> | null = null
  for await (const batch of splitTogether(toUtf8(part.chunks, name, encoding), name, { quoted: true })) {
    const lines = batch.filter(hasText)
    if (lines.length === 0) continue
    if (!reading) {
      if (lines[0] && !isUtf8(lines[0].bytes)) throw dataError(`${name}: the header is not UTF-8`, encodingHint)
      const table = await openTable(lines)
      reading = table && openReading(name, map.container, table)
    }
    if (reading) yield { columns: reading.columns, rows: reading.read(lines) }
  }
}

function openReading(name: string, { json_columns = [] }: Container, { header, cellsOfAll }: Table) {
  const jsonCells = new Set(json_columns.map(column => header.findIndex(each => fold(each) === fold(column))))
  jsonCells.delete(-1)
  const readCell = (text: string, index: number): unknown =>
    jsonCells.has(index) && text !== '' ? parseCell(text, header[index] ?? '') : text
  const toRow = (line: Line, cells: readonly string[] | Error): ReadRow => {
    if (!(cells instanceof Error))
      return jsonCells.size === 0 ? toReadable(line, cells) : attempt(line, () => cells.map(readCell), cells)
    if (cells instanceof NoRow && cells.isTorn) throw tornError(name, cells)
    return toUnreadable(line, cells)
  }
  const read = (lines: readonly Line[]): ReadRow[] => {
    const all = cellsOfAll(lines)
    return lines.flatMap((line, index) => {
      const cells = all[index] ?? []
      return Array.isArray(cells) && cells.every(cell => cell === '') ? [] : [toRow(line, cells)]
    })
  }
  return { columns: csvColumns(header, jsonCells, name), read }
}

/** Stops the import, because the following rows cannot be told apart either. */
function tornError(name: string, { message, hint }: NoRow) {
  const more = 'the rest was not read: check it for other quotation marks inside cells'
  return dataError(`${name}: ${message}`, hint === undefined ? undefined : `${hint}; ${more}`)
}

function parseCell(text: string, column: string): unknown {
  try {
    return parseExactJson(text)
  } catch (error) {
    throw dataError(`${column} ${(error as Error).message}`)
  }
}

function attempt(line: Line, read: () => Row, cells: Row | null = null): ReadRow {
  try {
    return toReadable(line, read())
  } catch (error) {
    return { ...toUnreadable(line, error as Error), row: cells }
  }
}

function toReadable({ number }: Line, row: Row): ReadRow {
  return { number, row, problem: null }
}

function toUnreadable({ number, bytes }: Line, { message }: Error): ReadRow {
  const problem = isUtf8(bytes) ? message.replace(/^line \d+:? /, '') : `is not UTF-8: ${encodingHint}`
  return { number, row: null, problem }
}

/** Names that identify the delimiter. */
function knownNames({ fields, answers, purposes }: ImportMap): (name: string) => boolean {
  const names = new Set<string>()
  JSON.stringify([fields, answers, purposes], (_, value: unknown) => {
    if (typeof value === 'string') names.add(fold(value))
    return value
  })
  return name => names.has(fold(name))
}

export type Row = readonly unknown[] | Readonly<Record<string, unknown>>
export type Getter = (row: Row) => unknown

export interface Columns {
  /** @throws UsageError if a CSV lacks the column, unless optional */
  getter(path: string, isOptional?: boolean): Getter
  /** Always true of JSON. */
  has(path: string): boolean
  namesWith(prefix: string): readonly string[]
}

export type Step = string | number | { readonly key: string; readonly is: string }

/** A key equal to the whole path takes precedence over its steps. */
export const jsonColumns: Columns = {
  getter: path => {
    const steps = parsePath(path)
    return row => {
      const own = steps.length > 1 ? valueAt(row, path) : undefined
      return own === undefined ? follow(row, steps) : own
    }
  },
  has: () => true,
  namesWith: () => [],
}

export function csvColumns(header: readonly string[], jsonCells: ReadonlySet<number>, name: string): Columns {
  const where = `${name}: the header`
  return {
    getter: (path, isOptional = false) => {
      const index = findColumn(header, path, where)
      if (index !== -1) return row => (row as readonly unknown[])[index]
      const [first, ...steps] = parsePath(path)
      const cell = typeof first === 'string' ? findColumn(header, first, where) : -1
      if (cell !== -1 && jsonCells.has(cell)) return row => follow((row as readonly unknown[])[cell], steps)
      if (isOptional) return () => undefined
      throw missingColumn(header, path, where)
    },
    has: path => findColumn(header, path, where) !== -1,
    namesWith: prefix => header.filter(each => each.startsWith(prefix) && each.length > prefix.length),
  }
}

const step = /\.?([^.[\]]+)|\[(\d+)\]|\[([^=\]]+)=([^\]]*)\]/y

export function parsePath(path: string): Step[] {
  const steps: Step[] = []
  step.lastIndex = 0
  while (step.lastIndex < path.length) {
    const match = step.exec(path)
    if (!match) throw usageError(`the map's path "${path}" cannot be read`, 'use name, a.b, a[0] or a[name=text]')
    const [, name, index, key, is] = match
    if (name !== undefined) steps.push(name)
    else steps.push(index === undefined ? { key: key as string, is: is as string } : Number(index))
  }
  return steps
}

export function follow(value: unknown, steps: readonly Step[]): unknown {
  let current = value
  for (const each of steps) current = stepInto(current, each)
  return current
}

function stepInto(value: unknown, each: Step): unknown {
  if (typeof each === 'string') return valueAt(value, each)
  if (!Array.isArray(value)) return undefined
  return typeof each === 'number' ? value[each] : value.find(element => valueAt(element, each.key) === each.is)
}

export function valueAt(value: unknown, key: string): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}

export class RowProblem extends Error {
  override readonly name = 'RowProblem'
  readonly reason: Reason

  constructor(reason: Reason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** '' for a missing value. @throws RowProblem for a list or an object */
export function textOf(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') throw new RowProblem('field', `${path} is not a text`)
  return String(value)
}

const longestValue = 255

/** `name` starts the message. @throws RowProblem for a text that no map can decide */
export function decidable(value: string, name: string): string {
  if (value.length > longestValue) throw new RowProblem('field', `${name} has over ${longestValue} characters`)
  if (!storable(value)) throw new RowProblem('field', `${name} is not Unicode text without NUL`)
  if (value === '__proto__') throw new RowProblem('field', `${name} is __proto__`)
  return value
}
