import { CliError, exit, usageError } from '../errors/errors.ts'
import { removeGuard } from '../output/formula.ts'
import { decode, type Line, rawOf } from './input.ts'

const delimiters = [',', ';', '\t'] as const

export type Delimiter = (typeof delimiters)[number]

export interface Table {
  readonly header: readonly string[]
  /** The header's line; null if it is not in the file. */
  readonly raw: Uint8Array | null
  /** @throws CliError invalid_data; the message begins with the line number */
  readonly cells: (line: Line) => readonly string[]
  /** The cells or the error of each line. Faster than `cells`. */
  readonly cellsOfAll: (lines: readonly Line[]) => (readonly string[] | Error)[]
}

interface Dialect {
  /** Default: the delimiter that yields the most known names, then the most columns. */
  readonly delimiter?: Delimiter | undefined
  readonly columns?: readonly string[] | undefined
  readonly isKnown: (name: string) => boolean
  /** Removes the `'` that `list` adds before formulas. */
  readonly unguard?: boolean | undefined
  readonly isShortAllowed?: boolean | undefined
}

/**
 * Opens a table when its header has arrived. A first line such as `sep=;` overrides the delimiter.
 *
 * @returns a function that takes these lines away from the given ones, and returns null without a header
 * @throws CliError if the header is invalid or has another separator
 */
export function tableOpener(dialect: Dialect) {
  let { delimiter } = dialect
  return async (lines: Line[]): Promise<Table | null> => {
    if (dialect.columns) return await openTable(null, { ...dialect, delimiter: delimiter ?? ',' })
    const separator = lines[0] && readSeparator(lines[0])
    if (separator) {
      delimiter = separator
      lines.shift()
    }
    const header = lines.shift()
    return header ? await openTable(header, { ...dialect, delimiter }) : null
  }
}

/** NFC, lower case, trimmed. */
export function fold(text: string): string {
  return text.normalize('NFC').trim().toLowerCase()
}

/** -1 for none. Prefers an exact match. @throws UsageError for two */
export function findColumn(header: readonly string[], column: string, where = 'the header'): number {
  const matches = (isEqual: (name: string) => boolean) =>
    header.flatMap((name, index) => (isEqual(name) ? [index] : []))
  const exact = matches(name => name === column)
  const found = exact.length > 0 ? exact : matches(name => fold(name) === fold(column))
  if (found.length > 1) throw usageError(`${where} has the column "${column}" twice`)
  return found[0] ?? -1
}

export function missingColumn(header: readonly string[], column: string, where = 'the header'): CliError {
  const names = header.filter(name => name.trim() !== '')
  return usageError(
    `${where} does not have the column "${column}", which the map requires`,
    `it has ${names.join(', ')}`,
  )
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
function requireWidth(cells: readonly string[], header: readonly string[], line: Line): void {
  if (cells.length === header.length) return
  throw new NoRow(line, `has ${cells.length} cells, and the header ${header.length}`)
}

function readSeparator({ bytes }: Line): Delimiter | undefined {
  const [, separator] = /^\ufeff?sep=(.)$/i.exec(bytes.subarray(0, 16).toString()) ?? []
  return delimiters.find(delimiter => delimiter === separator)
}

/** `headerLine`: null if the dialect has the columns. */
async function openTable(headerLine: Line | null, dialect: Dialect): Promise<Table> {
  const { delimiter, columns, isKnown, unguard, isShortAllowed } = dialect
  if (headerLine?.bytes.includes(0))
    throw usageError('the header is UTF-16 without a byte order mark', 'save the file as CSV in UTF-8')
  if (headerLine && /\r(?!\n|$)/.test(headerLine.bytes.toString('latin1').replace(/"[^"]*"/g, '')))
    throw usageError(
      'the lines end with CR only, so the whole file is one line',
      'save the file as CSV with line feeds (LF or CRLF)',
    )
  const { parse } = await import('csv-parse/sync')
  const read = (delimiter: Delimiter): Table => {
    const options = { delimiter, record_delimiter: '\n', relax_column_count: true }
    const parseOne = (line: Line): readonly string[] => {
      const text = decode(line.bytes, `line ${line.number}`)
      try {
        return parse(text, options)[0] ?? []
      } catch (error) {
        const { code } = error as { code?: unknown }
        throw new NoRow(line, quoteProblem(code), code === 'CSV_QUOTE_NOT_CLOSED')
      }
    }
    /** Starting the parser takes longer than parsing a line. Null if a line is invalid; `parseOne` finds which. */
    const parseAll = (lines: readonly Line[]): readonly (readonly string[])[] | null => {
      try {
        const texts = lines.map(line => decode(line.bytes, ''))
        if (!texts.some(text => text.includes('"'))) return texts.map(text => text.split(delimiter))
        const rows: string[][] = parse(texts.join('\n'), options)
        return rows.length === lines.length ? rows : null
      } catch {
        return null
      }
    }
    const header = headerLine ? parseOne(headerLine) : (columns ?? [])
    const cells = (line: Line, parsed = parseOne(line)): readonly string[] => {
      if (!isShortAllowed || parsed.length > header.length) requireWidth(parsed, header, line)
      return unguard ? parsed.map(removeGuard) : parsed
    }
    const cellsOfAll = (lines: readonly Line[]) => {
      const all = parseAll(lines)
      return lines.map((line, index) => {
        try {
          return cells(line, all?.[index])
        } catch (error) {
          return error as Error
        }
      })
    }
    return { header, raw: headerLine && rawOf(headerLine), cells: line => cells(line), cellsOfAll }
  }
  if (delimiter) return read(delimiter)
  const tables = delimiters.flatMap(each => tryRead(() => read(each)))
  const knownIn = ({ header }: Table) => header.filter(isKnown).length
  const [best] = tables.sort((a, b) => knownIn(b) - knownIn(a) || b.header.length - a.header.length)
  return best ?? read(',')
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
