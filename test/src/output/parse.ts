import { parse as parseCsv } from 'csv-parse/sync'
import { parseAllDocuments } from 'yaml'

/** How a program reads each format: rows of values, or of texts where the format has no types. */
export const readers = {
  json: (text: string): unknown[] => [JSON.parse(text)].flat(),
  ndjson: (text: string): unknown[] =>
    linesOf(text, '\n').map(line => {
      return JSON.parse(line)
    }),
  yaml: (text: string): unknown[] => {
    const documents = parseAllDocuments(text, { version: '1.2', schema: 'core', strict: true })
    if (!Array.isArray(documents)) return []
    return documents.map(document => {
      if (document.errors.length + document.warnings.length > 0) throw new Error(String(document.errors))
      return document.toJS()
    })
  },
}

/** A CSV as its header and its cells, null where a cell is nothing; without the guard against formulas. */
export function readCsv(text: string, { isGuarded = true } = {}): Sheet {
  // A bare LF or CR would be part of a cell: lines end with CRLF alone.
  const rows = parseCsv(text, {
    record_delimiter: '\r\n',
    relax_column_count: false,
    cast: (value, { quoting }) => (value === '' && !quoting ? (null as unknown as string) : value),
  }) as (string | null)[][]
  const [header = [], ...cells] = rows
  const bare = (cell: string | null) =>
    isGuarded ? (cell?.replace(/^'(?='*(?:[\t\r\n]|[\s\p{Cf}]*[=+\-@＝＋－＠]))/u, '') ?? null) : cell
  return { header: header.map(String), cells: cells.map(row => row.map(bare)) }
}

/** A TSV with a header; a cell that is empty may have been null. */
export function readTsv(text: string): Sheet {
  const [header = [], ...cells] = linesOf(text, '\n').map(line => line.split('\t').map(unescaped))
  return { header, cells }
}

export interface Sheet {
  readonly header: readonly string[]
  readonly cells: readonly (readonly (string | null)[])[]
}

/** The lines of a text, each of which must be ended. */
export function linesOf(text: string, end: string): string[] {
  const lines = text.split(end)
  if (lines.pop() !== '') throw new Error(`the last line has no end: ${JSON.stringify(text.slice(-80))}`)
  return lines
}

/** The escapes of TSV, as the documentation tells them. */
function unescaped(cell: string): string {
  const letters: Record<string, string> = { t: '\t', n: '\n', r: '\r', '\\': '\\' }
  return cell.replace(/\\(?:u([\da-f]{4})|(.))/g, (_, unit?: string, letter = '') => {
    if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16))
    const read = letters[letter as string]
    if (read === undefined) throw new Error(`no escape: \\${letter}`)
    return read
  })
}
