import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import type * as z from 'zod'
import { formatCount } from '../../../cli/messages.ts'
import type { Context } from '../../../context.ts'
import { CliError, dataError, exit, usageError } from '../../../errors/errors.ts'
import { explain } from '../../../errors/explain.ts'
import { reportsByKind } from '../../../errors/report.ts'
import { toUtf8 } from '../../../io/encoding.ts'
import { decode, hashed, hasText, type Line, nameOf, openSource, rawOf, splitTogether } from '../../../io/input.ts'
import { openOutFile } from '../../../io/new-file.ts'
import { fromTsv } from '../../../output/index.ts'
import type { LineResult } from '../../../views/consent.ts'
import { readObject } from '../fields.ts'
import type { ChunkParser, CsvKind, CsvOptions, LineParser } from './columns.ts'
import { type LineFlags, type LineFormat, maxErrorsOf } from './options.ts'

export interface LineKind<Fields> extends CsvKind {
  /** Written by this program, so not parsed; the drafts are the defaults. */
  readonly isOwn?: true | undefined
  /** @throws CliError invalid_data; the message begins with `name` */
  check(fields: object, name: string): asserts fields is Fields & object
}

/** `needed`: a required field, and the error if it is missing. */
export function lineKind(
  schema: z.ZodObject,
  noun: string,
  needed: { readonly field: string; readonly message: string; readonly hint?: string },
  findProblem: (fields: object) => string | null = () => null,
): LineKind<object> {
  const fields = Object.keys(schema.shape)
  return {
    noun,
    fields,
    silenceRefuses: false,
    check: (given: object, name: string) => {
      const issue = schema.safeParse(given).error?.issues[0]
      if (issue?.code === 'unrecognized_keys')
        throw dataError(`${name}: "${issue.keys[0]}" is not a field of ${noun}`, `use ${fields.join(', ')}`)
      if ((given as Record<string, unknown>)[needed.field] === undefined)
        throw dataError(`${name} ${needed.message}`, needed.hint)
      if (issue) throw dataError(`${name}: ${issue.path.join('.')} ${issue.message}`)
      const problem = findProblem(given)
      if (problem !== null) throw dataError(`${name} ${problem}`, 'use accepted, preferences or both')
    },
  }
}

export interface ReaderOptions extends CsvOptions {
  readonly file: string
  readonly format: LineFormat
  readonly defaults: object
}

export interface InputLine<Fields> {
  readonly line: Line
  readonly draft: Fields | null
  readonly error: unknown
}

export interface Reader<Fields> {
  readonly name: string
  /** Absolute path; null for a stream, which can be read only once. */
  readonly path: string | null
  /** Starts at the first line on each call. `isValidated` skips the validation of fields, which takes most of the time. */
  entries(isValidated?: boolean): AsyncGenerator<readonly InputLine<Fields>[]>
  /** SHA-256, in hexadecimal, of what the last call of `entries` read. */
  digest(): string
  header(): Uint8Array | null
  close(): Promise<void>
}

/** `-` is stdin. The signal ends a stream. @throws UsageError if the file cannot be read */
export async function openReader<Fields>(
  ctx: Context,
  kind: LineKind<Fields>,
  options: ReaderOptions,
  signal: AbortSignal,
): Promise<Reader<Fields>> {
  const { file, format } = options
  const name = nameOf(file)
  const { isFile, read, close } = await openSource(ctx.io, file, signal)
  const isQuoted = format === 'csv' || format === 'tsv'
  const csv = isQuoted
    ? (await import('./columns.ts')).openCsv(ctx, kind, options, format === 'tsv' ? '\t' : undefined)
    : null
  let hash = createHash('sha256')
  async function* entries(isValidated = false): AsyncGenerator<readonly InputLine<Fields>[]> {
    hash = createHash('sha256')
    const parseLine = chooseParser(format, kind, isValidated)
    let parse: ChunkParser | null = csv ? null : () => parseLine
    let isUnseen = !options.isResumed
    const isOnce = kind.isOfIds && isFile && isUnseen && !isValidated
    const ids = isOnce ? new Map<string, number>() : null
    for await (const chunk of splitTogether(toUtf8(hashed(read(), hash), name), name, { quoted: isQuoted })) {
      const lines = chunk.filter(hasText)
      parse ??= (await csv?.take(lines)) ?? null
      if (!parse) continue
      const made = lines.flatMap(toEntry(kind, parse(lines), options.defaults, isValidated, ids))
      const [first] = made
      // Every line would fail.
      if (isUnseen && format === 'ndjson' && first?.error)
        (await import('./columns.ts')).requireNoHeader(first.line, name, kind.fields)
      isUnseen &&= made.length === 0
      yield made
    }
    await csv?.end()
  }
  return {
    name,
    path: isFile ? resolve(file) : null,
    entries,
    digest: () => hash.copy().digest('hex'),
    header: () => csv?.raw() ?? null,
    close,
  }
}

const parseJson: LineParser = ({ number, bytes }) => {
  const name = `line ${number}`
  return readObject(decode(bytes, name), name)
}

function chooseParser(
  format: ReaderOptions['format'],
  { isOwn }: Pick<LineKind<unknown>, 'isOwn'>,
  isValidated: boolean,
): LineParser {
  if (format === 'ids') return parseId
  if (isOwn) return parseOwn
  return isValidated ? parseValidated : parseJson
}

/** Parses an id as `list -q` prints it. */
const parseId: LineParser = ({ number, bytes }) => ({ id: fromTsv(decode(bytes, `line ${number}`).trim()) })

const parseOwn: LineParser = () => ({})

const parseValidated: LineParser = (line, index) => {
  try {
    const value: unknown = JSON.parse(decode(line.bytes, ''))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {}
  return parseJson(line, index) // the file has changed since it was validated
}

function toEntry<Fields>(
  kind: LineKind<Fields>,
  parse: LineParser,
  defaults: object,
  isValidated: boolean,
  ids: Map<string, number> | null,
) {
  const check: LineKind<Fields>['check'] = kind.check
  return (line: Line, index: number): InputLine<Fields>[] => {
    try {
      const given = parse(line, index)
      if (given === null) return []
      const fields = kind.isOwn ? defaults : { ...defaults, ...given }
      if (!isValidated) check(fields, `line ${line.number}`)
      if (ids) requireNew(ids, String((fields as { id?: unknown }).id), line)
      return [{ line, draft: fields as Fields, error: null }]
    } catch (error) {
      return [{ line, draft: null, error }]
    }
  }
}

function requireNew(ids: Map<string, number>, id: string, { number }: Line): void {
  const earlier = ids.get(id)
  if (earlier !== undefined) throw dataError(`line ${number} repeats the id of line ${earlier}`)
  ids.set(id, number)
}

export interface Extent {
  readonly lines: number
  readonly sha256: string
}

/** Thrown after the results of the invalid lines. */
export class InvalidLinesError extends CliError {}

/** Yields, reports and saves up to `maxErrors` invalid lines. @throws InvalidLinesError if there are any */
export async function* validate(
  ctx: Context,
  reader: Reader<unknown>,
  options: LineFlags,
  failedLines: FailedLines | null,
  signal: AbortSignal,
): AsyncGenerator<readonly LineResult[], Extent> {
  const { failedOut, allowEmpty = false } = options
  const maxErrors = maxErrorsOf(options)
  let [lines, invalid] = [0, 0]
  const errors = reportsByKind(ctx)
  const isEnough = () => invalid >= maxErrors || (invalid > 0 && signal.aborted)
  try {
    for await (const entries of reader.entries()) {
      const rejected = entries.filter(({ error }) => error !== null).slice(0, maxErrors - invalid)
      for (const { line, error } of rejected) {
        await errors.add(error, `line ${line.number}`)
        await failedLines?.add(rawOf(line), reader.header())
      }
      invalid += rejected.length
      lines += invalid >= maxErrors ? entries.indexOf(rejected.at(-1) as InputLine<unknown>) + 1 : entries.length
      if (rejected.length > 0) yield rejected.map(({ line, error }) => toLineResult(line, 'failed', null, error))
      if (isEnough() || signal.aborted) break
    }
  } catch (error) {
    throw nothingSent(error)
  }
  await errors.finish()
  if (invalid === 0) {
    requireLines(reader, lines, allowEmpty || signal.aborted)
    return { lines, sha256: reader.digest() }
  }
  const where = failedOut === undefined ? '' : `: ${failedOut} has the lines to correct`
  const message = `${formatCount(invalid, 'line')} of ${lines} cannot be sent, so nothing was`
  throw new InvalidLinesError('invalid_data', exit.rejected, message, { hint: `correct the file${where}` })
}

/** An empty file more likely means a failed export than nothing to do. @throws CliError empty (exit 5) */
export function requireLines({ name, header }: Reader<unknown>, lines: number, isAllowed: boolean): void {
  if (lines > 0 || isAllowed) return
  const message = `${name} has no line${header() ? ' but its header' : ''}: nothing was sent`
  throw new CliError('empty', exit.rejected, message, { hint: 'if that is right: --allow-empty' })
}

export function nothingSent(error: unknown): unknown {
  if (!(error instanceof CliError) || error.code !== 'invalid_data') return error
  return dataError(`${error.message}, so nothing was sent`, error.hint)
}

export function toLineResult(
  { number }: Line,
  result: LineResult['result'],
  id: string | null,
  error: unknown,
): LineResult {
  if (error === null) return { line: number, result, id, error_code: null, message: null }
  const { code, message } = explain(error)
  return { line: number, result, id, error_code: code, message: withoutName(message, `line ${number}`) }
}

/** The line number is stored separately. */
function withoutName(message: string, name: string): string {
  const separator = [': ', ' '].find(each => message.startsWith(name + each))
  return separator === undefined ? message : message.slice(name.length + separator.length)
}

export type FailedLines = Awaited<ReturnType<typeof openFailedLines>>

/** Unless none was sent. @throws UsageError if it exists or cannot be created */
export async function openFailedLines(path: string) {
  const file = await openOutFile(path, '--failed-out').catch((error: CliError) => {
    throw error.code === 'io' ? usageError(`--failed-out: ${error.message}`) : error
  })
  let [endsInNewline, isClosed] = [true, false]
  return {
    add: async (line: Uint8Array, header: Uint8Array | null) => {
      const before = file.isEmpty && header ? [header] : endsInNewline ? [] : [Buffer.from('\n')]
      endsInNewline = line.at(-1) === 10
      await file.write(Buffer.concat([...before, line]))
    },
    close: async (isWanted: boolean) => {
      if (isClosed) return
      isClosed = true
      if (!isWanted || file.isEmpty) return await file.abandon(false)
      await file.commit().catch((error: Error) => {
        const message = `${error.message}; its lines are in ${file.part}`
        throw new CliError('io', exit.failure, message, { cause: error })
      })
    },
  }
}
