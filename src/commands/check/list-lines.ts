import { createHash } from 'node:crypto'
import type { Context } from '../../context.ts'
import { CheckQuery } from '../../contract/check.ts'
import { CliError, dataError, exit } from '../../errors/errors.ts'
import { findColumn, NoRow, tableOpener } from '../../io/csv.ts'
import { toUtf8 } from '../../io/encoding.ts'
import { decode, hasText, type Line, nameOf, openSource, rawOf, splitTogether } from '../../io/input.ts'

type ListFormat = 'csv' | 'tsv' | 'ndjson' | 'lines'

export interface ListOptions {
  readonly file: string
  readonly format?: ListFormat | undefined
  readonly column?: string | undefined
  readonly csvUnguard?: true | undefined
}

/** `problem` completes "line 7 …"; null if there is an identifier. */
export interface ListLine {
  readonly number: number
  readonly raw: Uint8Array
  readonly subject: string
  readonly problem: string | null
}

export interface List {
  readonly name: string
  /** Can be called once. @throws CliError invalid_data (exit 5) if the list cannot be read */
  pages(): AsyncGenerator<readonly ListLine[]>
  /** What precedes the first line: the header, with a line such as `sep=;` before it. */
  header(): Uint8Array
  /** Of what was read. */
  digest(): { readonly sha256: string; readonly bytes: number }
  close(): Promise<void>
}

/** Identifiers or what is wrong with each line; null for a row without any text. */
type FindAll = (lines: readonly Line[]) => readonly (string | Error | null)[]

/** `-` is stdin. @throws CliError invalid_data (exit 5) if it cannot be read */
export async function openList({ io, interruption }: Context, options: ListOptions): Promise<List> {
  const { file, column } = options
  const name = nameOf(file)
  const format = options.format ?? formatOf(file, column)
  const source = await openSource(io, file, interruption).catch(error => rethrow(error, interruption))
  const hash = createHash('sha256')
  let bytes = 0
  let header: Uint8Array = new Uint8Array()
  async function* read() {
    for await (const chunk of source.read()) {
      hash.update(chunk)
      bytes += chunk.length
      yield chunk
    }
  }
  async function* pages(): AsyncGenerator<readonly ListLine[]> {
    const isQuoted = format === 'csv' || format === 'tsv'
    const open = openFinder(options, format)
    let find: FindAll | null = null
    try {
      for await (const chunk of splitTogether(toUtf8(read(), name), name, { quoted: isQuoted })) {
        const all = chunk.filter(hasText)
        const lines = [...all]
        if (!find) {
          find = await open(lines)
          header = Buffer.concat([header, ...all.slice(0, all.length - lines.length).map(rawOf)])
        }
        if (find) yield toListLines(lines, find(lines))
      }
    } catch (error) {
      rethrow(error, interruption)
    }
  }
  return {
    name,
    pages,
    header: () => header,
    digest: () => ({ sha256: hash.copy().digest('hex'), bytes }),
    close: source.close,
  }
}

const defaultColumn = 'subject_id'

function formatOf(file: string, column: string | undefined): ListFormat {
  const [, extension = ''] = /\.(csv|tsv|ndjson|jsonl|json)$/i.exec(file) ?? []
  const found = (['csv', 'tsv'] as const).find(format => format === extension.toLowerCase())
  return found ?? (extension !== '' ? 'ndjson' : column === undefined ? 'lines' : 'csv')
}

/** Every failure to read the list has one exit code, because 2 and 10 mean something else to a script. */
function rethrow(error: unknown, interruption: AbortSignal): never {
  interruption.throwIfAborted()
  const isOwn = error instanceof CliError && (error.exit === exit.usage || error.exit === exit.changed)
  throw isOwn ? dataError(error.message, error.hint) : error
}

/** The returned function takes the header away from the lines, and returns null until it is complete. */
function openFinder(options: ListOptions, format: ListFormat): (lines: Line[]) => Promise<FindAll | null> {
  if (format === 'csv' || format === 'tsv') return openColumn(options, format === 'tsv' ? '\t' : undefined)
  const { column = defaultColumn } = options
  const find = findInEach(format === 'lines' ? text => text : text => readField(text, column))
  return async () => find
}

function openColumn({ column = defaultColumn, csvUnguard }: ListOptions, delimiter: '\t' | undefined) {
  const openTable = tableOpener({
    delimiter,
    unguard: csvUnguard === true,
    isKnown: name => findColumn([name], column) === 0,
  })
  return async (lines: Line[]): Promise<FindAll | null> => {
    const table = await openTable(lines)
    if (!table) return null
    const { header } = table
    const index = findColumn(header, column)
    if (index === -1)
      throw dataError(`the header has no column "${column}"`, `name one with --column: ${header.join(', ')}`)
    return lines =>
      table.cellsOfAll(lines).map(cells => {
        if (cells instanceof NoRow && cells.isTorn) throw cells
        if (cells instanceof Error) return cells
        return cells.every(cell => cell === '') ? null : (cells[index] ?? '')
      })
  }
}

function findInEach(find: (text: string) => string): FindAll {
  return lines =>
    lines.map(({ number, bytes }) => {
      try {
        return find(decode(bytes, `line ${number}`))
      } catch (error) {
        if (error instanceof CliError) return error
        throw error
      }
    })
}

function readField(text: string, field: string): string {
  try {
    const value: unknown = JSON.parse(text)
    const found = Object.hasOwn(Object(value), field) && (value as Record<string, unknown>)[field]
    if (typeof found === 'string') return found
  } catch {
    throw dataError('is not JSON')
  }
  throw dataError(`has no text in the field "${field}"`)
}

function toListLines(lines: readonly Line[], found: ReturnType<FindAll>): ListLine[] {
  return lines.flatMap((line, index) => {
    const subject = found[index] ?? null
    if (subject === null) return []
    const { number } = line
    const common = { number, raw: rawOf(line) }
    if (typeof subject === 'string') return [{ ...common, subject, problem: findProblem(subject) }]
    return [{ ...common, subject: '', problem: subject.message.replace(`line ${number} `, '') }]
  })
}

function findProblem(subject: string): string | null {
  if (/^[\w.@+-]{1,255}$/.test(subject)) return null // zod takes longer
  const issue = CheckQuery.shape.subject_id.safeParse(subject).error?.issues[0]
  if (subject === '' || !issue) return subject === '' ? 'has no identifier' : null
  return `has an identifier that ${issue.message}`
}
