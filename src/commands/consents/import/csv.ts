import { ConsentDraft } from '../../../contract/consents.ts'
import { dataError, usageError } from '../../../errors/errors.ts'
import { decode, type Line } from '../../../io/input.ts'
import { readObject, typed } from '../fields.ts'

type Fields = Record<string, unknown>

/** Puts a cell where it belongs: among the fields, or the preferences that have a column of their own. */
type Column = (cell: string, place: string, fields: Fields, single: Fields) => void

/**
 * What reads the lines under a header as the fields of a create. An empty cell is a field that is not given. `unguard`
 * takes the quotation mark away that spreadsheets are kept from calculating with. Throws a usage error for a header
 * that names an unknown column, or one twice; the reader throws a data error that begins with the line's number.
 */
export async function csvReader(header: Line, unguard: boolean): Promise<(line: Line) => Fields> {
  const { parse } = await import('csv-parse/sync')
  const cellsOf = (line: Line): string[] => {
    const text = decode(line.bytes, `line ${line.number}`)
    try {
      const records = parse(text, { record_delimiter: ['\r\n', '\n'], relax_column_count: true })
      return records[0] ?? []
    } catch (error) {
      throw dataError(`line ${line.number} ${quoteProblem((error as { code?: unknown }).code)}`)
    }
  }
  const names = cellsOf(header)
  const columns = names.map(columnOf)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw usageError(`the header has the column "${twice}" twice`)
  return line => {
    const cells = cellsOf(line)
    const place = `line ${line.number}`
    if (cells.length !== columns.length) {
      throw dataError(`${place} has ${cells.length} cells, and the header ${columns.length}`)
    }
    const fields: Fields = {}
    const single: Fields = {}
    for (const [index, column] of columns.entries()) {
      const cell = unguard
        ? (cells[index] ?? '').replace(/^'(?='*[=+\-@\t\r\n＝＋－＠])/, '')
        : (cells[index] ?? '')
      if (cell !== '') column(cell, `${place}: ${names[index]}`, fields, single)
    }
    if (Object.keys(single).length === 0) return fields
    return { ...fields, preferences: { ...(fields['preferences'] as object | undefined), ...single } }
  }
}

/** Whether a line reads like a header, and not like JSON: it names a column that there is. */
export function isHeader({ bytes }: Line): boolean {
  const text = bytes.toString()
  if (/^\s*[{[]/.test(text)) return false
  const names = text.split(',')
  return names.some(name => isColumn(name.trim().replace(/^"(.*)"$/, '$1')))
}

const columns: Record<string, Column> = {
  accepted: (cell, place, fields) => {
    if (!/^(true|false)$/i.test(cell)) throw dataError(`${place} must be true or false`)
    fields['accepted'] = cell.toLowerCase() === 'true'
  },
  policy_version: (cell, place, fields) => {
    if (!/^\d{1,10}$/.test(cell)) throw dataError(`${place} must be a whole number`)
    fields['policy_version'] = Number(cell)
  },
  preferences: (cell, place, fields) => {
    fields['preferences'] = readObject(cell, place)
  },
}

function columnOf(name: string): Column {
  if (Object.hasOwn(columns, name)) return columns[name] as Column
  if (Object.hasOwn(ConsentDraft.shape, name)) {
    return (cell, _, fields) => {
      fields[name] = cell
    }
  }
  const preference = preferenceOf(name)
  if (preference === undefined) {
    const known = Object.keys(ConsentDraft.shape).join(', ')
    throw usageError(`the header's "${name}" is no field of a new record`, `there are: ${known}, pref.NAME`)
  }
  return (cell, place, _, single) => {
    single[preference] = typed(cell, place)
  }
}

function isColumn(name: string): boolean {
  return Object.hasOwn(ConsentDraft.shape, name) || preferenceOf(name) !== undefined
}

/** The preference that a column is of; undefined for another column. */
function preferenceOf(name: string): string | undefined {
  const preference = /^pref(?:erences)?\.(.+)$/s.exec(name)?.[1]
  return preference === '__proto__' ? undefined : preference
}

function quoteProblem(code: unknown): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'opens a quotation mark that is never closed'
  if (code === 'CSV_INVALID_CLOSING_QUOTE') return 'has text after a closing quotation mark'
  if (code === 'INVALID_OPENING_QUOTE') return 'has a quotation mark within an unquoted cell'
  return `is not valid CSV (${String(code)})`
}
