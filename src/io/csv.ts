import { CliError, exit, usageError } from '../errors/errors.ts'
import { decode, type Line } from './input.ts'

export const delimiters = [',', ';', '\t'] as const

export type Delimiter = (typeof delimiters)[number]

export interface Table {
  readonly header: readonly string[]
  /** @throws CliError invalid_data; the message begins with the line number */
  readonly cells: (line: Line) => readonly string[]
  /** Null if a line is invalid; `cells` finds which. */
  readonly cellsOfAll: (lines: readonly Line[]) => readonly (readonly string[])[] | null
}

/** `isTorn`: quotation marks may have joined several rows. */
export class NoRow extends CliError {
  readonly isTorn: boolean

  constructor({ number, bytes }: Line, problem: string, isOpen = false) {
    const last = number + bytes.reduce((ends, byte) => ends + (byte === 10 ? 1 : 0), 0)
    const joined = last > number ? `: the rows in lines ${number} to ${last} cannot be told apart` : ''
    const hint = joined && `correct line ${number}: a quotation mark there is one too many, or its pair is missing`
    super('invalid_data', exit.rejected, `line ${number} ${problem}${joined}`, { hint: hint || undefined })
    this.isTorn = isOpen || last > number
  }
}

/** @throws NoRow if the number of cells differs from the header's */
export function requireWidth(cells: readonly string[], header: readonly string[], line: Line): void {
  if (cells.length === header.length) return
  const why = hasBareReturn(line) ? ', and a carriage return (CR), which ends no line without a line feed' : ''
  throw new NoRow(line, `has ${cells.length} cells, and the header ${header.length}${why}`)
}

/** True for a CR outside quotation marks that is not part of a CRLF. */
function hasBareReturn({ bytes }: Line): boolean {
  return /\r(?!\n|$)/.test(bytes.toString('latin1').replace(/"[^"]*"/g, ''))
}

/** Reads a first line such as `sep=;`. */
export function readSeparator({ bytes }: Line): Delimiter | undefined {
  const [, separator] = /^\ufeff?sep=(.)$/i.exec(bytes.subarray(0, 16).toString()) ?? []
  return delimiters.find(delimiter => delimiter === separator)
}

/**
 * Without a delimiter, chooses the one with the most known names, then the most columns.
 *
 * @throws CliError if the header is invalid or has another separator
 */
export async function openTable(
  header: Line,
  delimiter: Delimiter | undefined,
  isKnown: (name: string) => boolean,
): Promise<Table> {
  if (header.bytes.includes(0))
    throw usageError('the header is UTF-16 without a byte order mark', 'save the file as CSV in UTF-8')
  if (hasBareReturn(header))
    throw usageError(
      'the lines end with CR only, so the whole file is one line',
      'save the file as CSV with line feeds (LF or CRLF)',
    )
  const { parse } = await import('csv-parse/sync')
  const read = (delimiter: Delimiter): Table => {
    const options = { delimiter, record_delimiter: ['\r\n', '\n'], relax_column_count: true }
    const cells = (line: Line): readonly string[] => {
      const text = decode(line.bytes, `line ${line.number}`)
      try {
        return parse(text, options)[0] ?? []
      } catch (error) {
        const { code } = error as { code?: unknown }
        throw new NoRow(line, quoteProblem(code), code === 'CSV_QUOTE_NOT_CLOSED')
      }
    }
    /** Starting the parser takes longer than a line. */
    const cellsOfAll = (lines: readonly Line[]) => {
      try {
        const texts = lines.map(line => decode(line.bytes, ''))
        if (!texts.some(text => text.includes('"'))) return texts.map(text => text.split(delimiter))
        const rows: string[][] = parse(texts.join('\n'), options)
        return rows.length === lines.length ? rows : null
      } catch {
        return null
      }
    }
    return { header: cells(header), cells, cellsOfAll }
  }
  if (delimiter) return read(delimiter)
  const tables = delimiters.flatMap(each => tryRead(() => read(each)))
  const knownIn = ({ header }: Table) => header.filter(isKnown).length
  const [best] = tables.sort((a, b) => knownIn(b) - knownIn(a) || b.header.length - a.header.length)
  if (!best) return read(',')
  if (best.header.length > 1 || !best.header[0]?.includes('|')) return best
  throw usageError(
    'the header’s columns are separated by a vertical bar',
    'export the file again with a comma, a semicolon or a tab as the separator',
  )
}

/** Empty if a quotation mark contradicts the delimiter. */
function tryRead(read: () => Table): Table[] {
  try {
    return [read()]
  } catch {
    return []
  }
}

function quoteProblem(code: unknown): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'has an opening quotation mark that is never closed'
  if (code === 'CSV_INVALID_CLOSING_QUOTE') return 'has text after a closing quotation mark'
  if (code === 'INVALID_OPENING_QUOTE') return 'has a quotation mark within an unquoted cell'
  return `is not valid CSV (${String(code)})`
}
