import { parseExactJson } from '../../../../contract/exact-json.ts'
import { dataError } from '../../../../errors/errors.ts'
import { type Delimiter, NoRow, openTable, readSeparator, requireWidth, type Table } from '../../../../io/csv.ts'
import { toUtf8 } from '../../../../io/encoding.ts'
import { decode, type Line, splitTogether } from '../../../../io/input.ts'
import { removeGuard } from '../../../../output/formula.ts'
import { fold } from '../../bulk/words.ts'
import { readObject } from '../../fields.ts'
import { splitArray } from './json-array.ts'
import type { Container, ImportMap } from './map.ts'
import { type Columns, csvColumns, type Getter, jsonColumns, type Row } from './paths.ts'
import type { Part } from './source.ts'

export interface ReadRow {
  readonly number: number
  /** Null if its cells are unreadable. */
  readonly row: Row | null
  /** Null for a readable row. */
  readonly problem: string | null
}

export interface Batch {
  /** One object for a part. */
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
  if (container.kind === 'csv') return csvRows(part, container, knownNames(map), unguard)
  const lines =
    container.kind === 'json'
      ? splitArray(toUtf8(part.chunks, part.name), container.at ? container.at.split('.') : [], part.name)
      : splitTogether(toUtf8(part.chunks, part.name), part.name)
  return jsonRows(lines, container.each)
}

async function* jsonRows(batches: AsyncIterable<readonly Line[]>, each: string | undefined): AsyncGenerator<Batch> {
  const get = each === undefined ? null : jsonColumns.getter(each)
  for await (const lines of batches) {
    const rows = lines.filter(isFilled).map(line => attempt(line, () => parse(line.bytes)))
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

async function* csvRows(
  part: Part,
  container: Container,
  isKnown: (name: string) => boolean,
  unguard: boolean,
): AsyncGenerator<Batch> {
  const { name } = part
  let open: { readonly columns: Columns; readonly read: (lines: readonly Line[]) => ReadRow[] } | null = null
  let delimiter = container.delimiter ?? (container.columns && ',')
  for await (const batch of splitTogether(toUtf8(part.chunks, name), name, { quoted: true })) {
    const lines = batch.filter(isFilled)
    while (!open && lines.length > 0) {
      const first = container.columns ? headerOf(container.columns, delimiter) : (lines.shift() as Line)
      const separator = readSeparator(first)
      if (separator) delimiter = separator
      else open = openReading(name, container, await openTable(first, delimiter, isKnown), unguard)
    }
    if (!open) continue
    const { columns, read } = open
    yield { columns, rows: inFile(name, () => read(lines)) }
  }
}

/** Adds the file's name to an error that stops the import. */
function inFile<Value>(name: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof NoRow)) throw error
    const more = 'the rest was not read, and may have more: look for others with a quotation mark inside a cell'
    throw dataError(`${name}: ${error.message}`, error.hint === undefined ? undefined : `${error.hint}; ${more}`)
  }
}

function headerOf(columns: readonly string[], delimiter: Delimiter = ','): Line {
  const cells = columns.map(column => `"${column.replaceAll('"', '""')}"`)
  return { number: 0, bytes: Buffer.from(cells.join(delimiter)), end: 0 }
}

function openReading(name: string, { json_columns = [] }: Container, table: Table, unguard: boolean) {
  const { header } = table
  const jsonCells = new Set(json_columns.map(column => header.findIndex(each => fold(each) === fold(column))))
  jsonCells.delete(-1)
  const readCell = (text: string, index: number): unknown =>
    jsonCells.has(index) && text !== '' ? parseCell(text, header[index] ?? '') : text
  const read = (lines: readonly Line[]): ReadRow[] => {
    const all = table.cellsOfAll(lines)
    const rows: ReadRow[] = []
    for (const [index, line] of lines.entries()) {
      let texts: readonly string[] | null = null
      const row = attempt(line, () => {
        const cells = all?.[index] ?? table.cells(line)
        requireWidth(cells, header, line)
        texts = unguard ? cells.map(removeGuard) : cells
        return jsonCells.size > 0 ? texts.map(readCell) : texts
      })
      if (!isEmpty(texts)) rows.push(row.problem === null ? row : { ...row, row: texts })
    }
    return rows
  }
  return { columns: csvColumns(header, jsonCells, name), read }
}

function isEmpty(cells: readonly string[] | null): boolean {
  return cells?.every(cell => cell === '') === true
}

function parseCell(text: string, column: string): unknown {
  try {
    return parseExactJson(text)
  } catch (error) {
    throw dataError(`${column} ${(error as Error).message}`)
  }
}

function attempt({ number }: Line, read: () => Row): ReadRow {
  try {
    return { number, row: read(), problem: null }
  } catch (error) {
    if (error instanceof NoRow && error.isTorn) throw error
    return { number, row: null, problem: (error as Error).message.replace(/^line \d+:? /, '') }
  }
}

/** Identify the delimiter. */
function knownNames({ fields, accepted, event, purposes }: ImportMap): (name: string) => boolean {
  const names = new Set<string>()
  JSON.stringify([fields, accepted, event, purposes], (_, value: unknown) => {
    if (typeof value === 'string') names.add(fold(value))
    return value
  })
  return name => names.has(fold(name))
}

function isFilled({ bytes }: Line): boolean {
  return bytes.some(byte => byte !== 32 && byte !== 9 && byte !== 13)
}
