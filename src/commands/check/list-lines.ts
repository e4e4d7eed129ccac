import { createHash } from 'node:crypto'
import type { Context } from '../../context.ts'
import { CheckQuery } from '../../contract/check.ts'
import { CliError, dataError, exit } from '../../errors/errors.ts'
import { findColumn, tableOpener } from '../../io/csv.ts'
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

type Found = string | { readonly problem: string }
/** Null for a row without any text. */
type FindAll = (lines: readonly Line[]) => (Found | null)[]

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
  const find = format === 'lines' ? findInLines : findInJson(options.column ?? defaultColumn)
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
        if (cells instanceof Error) return { problem: cells.message.replace(/^line \d+ /, '') }
        return cells.every(cell => cell === '') ? null : (cells[index] ?? '')
      })
  }
}

const findInLines: FindAll = lines => lines.map(line => attempt(() => decode(line.bytes, 'it')))

function findInJson(field: string): FindAll {
  return lines => lines.map(line => attempt(() => readField(decode(line.bytes, 'it'), field)))
}

function readField(text: string, field: string): Found {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'is not JSON' }
  }
  const found = Object.hasOwn(Object(value), field) ? (value as Record<string, unknown>)[field] : undefined
  return typeof found === 'string' ? found : { problem: `has no text in the field "${field}"` }
}

function attempt(find: () => Found): Found {
  try {
    return find()
  } catch (error) {
    if (error instanceof CliError) return { problem: error.message.replace(/^it /, '') }
    throw error
  }
}

const Subject = CheckQuery.shape.subject_id

function toListLines(lines: readonly Line[], found: readonly (Found | null)[]): ListLine[] {
  return lines.flatMap((line, index) => {
    const each = found[index]
    if (each === null || each === undefined) return []
    const raw = rawOf(line)
    const { number } = line
    if (typeof each !== 'string') return [{ number, raw, subject: '', problem: each.problem }]
    const problem = each === '' ? 'has no identifier' : findSubjectProblem(each)
    return [{ number, raw, subject: each, problem }]
  })
}

function findSubjectProblem(subject: string): string | null {
  if (/^[\w.@+-]{1,255}$/.test(subject)) return null // zod takes longer
  const issue = Subject.safeParse(subject).error?.issues[0]
  return issue ? `has an identifier that ${issue.message}` : null
}
