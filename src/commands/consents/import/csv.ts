import { ConsentDraft } from '../../../contract/consents.ts'
import { dataError, usageError } from '../../../errors/errors.ts'
import { decode, type Line } from '../../../io/input.ts'
import { readObject, typed } from '../fields.ts'

/** Returns the fields of a line. @throws CliError invalid_data that begins with the line's number */
export type LineParser = (line: Line) => object

const separators = [
  { text: ';', name: 'semicolon' },
  { text: '\t', name: 'tab' },
  { text: '|', name: 'vertical bar' },
]

type Fields = Record<string, unknown>

type Column = (cell: string, name: string, fields: Fields, preferences: Fields) => void

/**
 * An empty cell is a field that is not given. `unguard` removes the `'` that list puts before formulas.
 *
 * @throws UsageError if the header names an unknown column, or one twice
 */
export async function csvParser(header: Line, unguard: boolean): Promise<LineParser> {
  const { parse } = await import('csv-parse/sync')
  const readCells = (line: Line): string[] => {
    const text = decode(line.bytes, `line ${line.number}`)
    try {
      const records = parse(text, { record_delimiter: ['\r\n', '\n'], relax_column_count: true })
      return records[0] ?? []
    } catch (error) {
      throw dataError(`line ${line.number} ${quoteProblem((error as { code?: unknown }).code)}`)
    }
  }
  const names = readCells(header)
  const separator = names.length === 1 ? separators.find(({ text }) => names[0]?.includes(text)) : undefined
  if (separator) {
    const hint = 'replace it, or export the file again with a comma as the field separator'
    throw usageError(`the columns of the header are separated by a ${separator.name}, not by a comma`, hint)
  }
  const columns = names.map(toColumn)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw usageError(`the header has the column "${twice}" twice`)
  return line => {
    const cells = readCells(line)
    const name = `line ${line.number}`
    if (cells.length !== columns.length)
      throw dataError(`${name} has ${cells.length} cells, and the header ${columns.length}`)
    const fields: Fields = {}
    const preferences: Fields = {}
    for (const [index, column] of columns.entries()) {
      const cell = cells[index] ?? ''
      const bare = unguard ? cell.replace(/^'(?='*[=+\-@\t\r\n＝＋－＠])/, '') : cell
      if (bare !== '') column(bare, `${name}: ${names[index]}`, fields, preferences)
    }
    if (Object.keys(preferences).length === 0) return fields
    return { ...fields, preferences: { ...(fields['preferences'] as object | undefined), ...preferences } }
  }
}

/** Returns true if a line is not JSON and names a column. */
export function isHeader({ bytes }: Line): boolean {
  const text = bytes.toString()
  if (/^\s*[{[]/.test(text)) return false
  const names = text.split(',')
  return names.some(name => isColumn(name.trim().replace(/^"(.*)"$/, '$1')))
}

const columns: Record<string, Column> = {
  accepted: (cell, name, fields) => {
    if (!/^(true|false)$/i.test(cell)) throw dataError(`${name} must be true or false`)
    fields['accepted'] = cell.toLowerCase() === 'true'
  },
  policy_version: (cell, name, fields) => {
    if (!/^\d{1,10}$/.test(cell)) throw dataError(`${name} must be a whole number`)
    fields['policy_version'] = Number(cell)
  },
  preferences: (cell, name, fields) => {
    fields['preferences'] = readObject(cell, name)
  },
}

function toColumn(name: string): Column {
  if (Object.hasOwn(columns, name)) return columns[name] as Column
  if (Object.hasOwn(ConsentDraft.shape, name)) {
    return (cell, _, fields) => {
      fields[name] = cell
    }
  }
  const preference = preferenceName(name)
  if (preference === undefined) {
    const known = Object.keys(ConsentDraft.shape).join(', ')
    throw usageError(`the header's "${name}" is not a field of a new record`, `use ${known}, pref.NAME`)
  }
  return (cell, name, _, preferences) => {
    preferences[preference] = typed(cell, name)
  }
}

function isColumn(name: string): boolean {
  return Object.hasOwn(ConsentDraft.shape, name) || preferenceName(name) !== undefined
}

function preferenceName(name: string): string | undefined {
  const preference = /^pref(?:erences)?\.(.+)$/s.exec(name)?.[1]
  return preference === '__proto__' ? undefined : preference
}

function quoteProblem(code: unknown): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'has an opening quotation mark that is never closed'
  if (code === 'CSV_INVALID_CLOSING_QUOTE') return 'has text after a closing quotation mark'
  if (code === 'INVALID_OPENING_QUOTE') return 'has a quotation mark within an unquoted cell'
  return `is not valid CSV (${String(code)})`
}
