import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { formatCount } from '../../../cli/messages.ts'
import type { Context } from '../../../context.ts'
import { ConsentDraft } from '../../../contract/consents.ts'
import { text } from '../../../contract/values.ts'
import { CliError, dataError, exit, usageError } from '../../../errors/errors.ts'
import { reportsByKind } from '../../../errors/report.ts'
import { decode, type Line, nameOf, rawOf, readChunks, splitTogether, unreadable } from '../../../io/input.ts'
import { readObject } from '../fields.ts'
import type { LineParser } from './csv.ts'

export interface Entry {
  readonly line: Line
  readonly draft: ConsentDraft | null
  readonly error: unknown
}

export interface Reader {
  readonly name: string
  /** Absolute; null for a stream, which can be read only once. */
  readonly path: string | null
  /**
   * Reads from the first line at each call, and yields the lines of each chunk. `isValidated` skips the check of fields, which
   * takes most of the time.
   */
  entries(isValidated?: boolean): AsyncGenerator<readonly Entry[]>
  /** SHA-256, in hexadecimal, of the bytes that the last `entries` read. */
  digest(): string
  /** Returns the raw header of a CSV. */
  header(): Uint8Array | null
  close(): Promise<void>
}

export interface ReaderOptions {
  readonly file: string
  readonly format: 'ndjson' | 'csv'
  /** For lines that name none. */
  readonly site: string | undefined
  readonly unguard: boolean
  readonly isResumed: boolean
}

/** Opens a file, or stdin for `-`. The signal ends a stream. @throws UsageError if it cannot be read */
export async function openReader(ctx: Context, options: ReaderOptions, signal: AbortSignal): Promise<Reader> {
  const { file, format } = options
  const name = nameOf(file)
  const isFile = file !== '-' && (await stat(file).catch(rethrowUnreadable(file))).isFile()
  const handle = isFile ? await open(file).catch(rethrowUnreadable(file)) : null
  const read = handle ? await unchangedReads(handle, file) : () => readChunks(ctx.io, file, signal)
  let hash = createHash('sha256')
  let header: Uint8Array | null = null
  /** Takes the header from the first lines; returns null if there are none. */
  const takeHeader = async (lines: Line[]) => {
    const first = lines.shift()
    if (!first) return null
    const { csvParser } = await import('./csv.ts')
    const parse = await csvParser(first, options.unguard)
    header = rawOf(first)
    return parse
  }
  async function* entries(isValidated = false): AsyncGenerator<readonly Entry[]> {
    hash = createHash('sha256')
    const parseLine = isValidated ? parseValidated : parseJson
    let parse = format === 'csv' ? null : parseLine
    let isUnseen = !options.isResumed
    for await (const chunk of splitTogether(hashed(read(), hash), name, { quoted: format === 'csv' })) {
      const lines = chunk.filter(hasText)
      parse ??= await takeHeader(lines)
      if (!parse) continue
      const made = lines.map(toEntry(parse, options.site, isValidated))
      if (isUnseen && format === 'ndjson') await requireNoCsvHeader(made[0], name)
      isUnseen &&= made.length === 0
      yield made
    }
  }
  return {
    name,
    path: handle ? resolve(file) : null,
    entries,
    digest: () => hash.copy().digest('hex'),
    header: () => header,
    close: async () => handle?.close(),
  }
}

const parseJson: LineParser = ({ number, bytes }) => {
  const name = `line ${number}`
  return readObject(decode(bytes, name), name)
}

const parseValidated: LineParser = line => {
  try {
    const value: unknown = JSON.parse(decode(line.bytes, ''))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {}
  return parseJson(line) // the file changed since it was validated
}

function toEntry(parse: LineParser, site: string | undefined, isValidated: boolean) {
  return (line: Line): Entry => {
    try {
      const fields = { site_id: site, ...parse(line) }
      if (!isValidated) requireDraft(fields, `line ${line.number}`)
      return { line, draft: fields as ConsentDraft, error: null }
    } catch (error) {
      return { line, draft: null, error }
    }
  }
}

/** With any site id, because another instance may have other ids than UUIDs. */
const Draft = ConsentDraft.extend({ site_id: text(1, 255) })

/** @throws CliError invalid_data that begins with the line's number */
function requireDraft(fields: { site_id: unknown }, name: string): void {
  if (fields.site_id === undefined) throw dataError(`${name} has no site_id, and no --site is given`)
  const { error } = Draft.safeParse(fields)
  const issue = error?.issues[0]
  if (issue?.code === 'unrecognized_keys') {
    const known = Object.keys(ConsentDraft.shape).join(', ')
    throw dataError(`${name}: "${issue.keys[0]}" is not a field of a new record`, `use ${known}`)
  }
  if (issue) throw dataError(`${name}: ${issue.path.join('.')} ${issue.message}`)
}

function hasText({ bytes }: Line): boolean {
  return bytes.some(byte => byte !== 32 && byte !== 9 && byte !== 13)
}

/** @throws UsageError if the first line is the header of a CSV, because every line would fail */
async function requireNoCsvHeader(first: Entry | undefined, name: string): Promise<void> {
  if (!first || first.error === null) return
  const { isHeader } = await import('./csv.ts')
  if (!isHeader(first.line)) return
  throw usageError(
    `line ${first.line.number} of ${name} is not JSON but looks like a CSV header, so nothing was sent`,
    'read it as CSV: --format csv',
  )
}

function rethrowUnreadable(file: string): (error: unknown) => never {
  return error => {
    throw unreadable(file, error)
  }
}

async function* hashed(chunks: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}

/** Returns a function that reads a file from its beginning, and throws once the file has changed since this call. */
async function unchangedReads(handle: FileHandle, file: string): Promise<() => AsyncGenerator<Buffer>> {
  const first = await handle.stat({ bigint: true })
  return async function* () {
    for (let position = 0; ; ) {
      const { bytesRead, buffer } = await handle
        .read(Buffer.allocUnsafe(65_536), 0, 65_536, position)
        .catch(rethrowUnreadable(file))
      const now = await handle.stat({ bigint: true })
      if (now.mtimeNs !== first.mtimeNs || now.size !== first.size) throw changedError(file)
      if (bytesRead === 0) return
      position += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  }
}

export function changedError(file: string): CliError {
  return new CliError('changed', exit.changed, `${file} changed while it was read`, {
    hint: 'stop writing to it, and try again',
  })
}

export interface Extent {
  readonly lines: number
  readonly sha256: string
}

/** Reports up to `maxErrors` invalid lines. @throws CliError invalid_data if there is one */
export async function validate(ctx: Context, reader: Reader, maxErrors: number, signal: AbortSignal): Promise<Extent> {
  let [lines, invalid] = [0, 0]
  const errors = reportsByKind(ctx)
  const isEnough = () => invalid >= maxErrors || (invalid > 0 && signal.aborted)
  try {
    for await (const entries of reader.entries()) {
      for (const { line, error } of entries) {
        lines += 1
        if (error === null) continue
        invalid += 1
        await errors.add(error, `line ${line.number}`)
        if (isEnough()) break
      }
      if (isEnough() || signal.aborted) break
    }
  } catch (error) {
    throw nothingSent(error)
  }
  await errors.finish()
  if (invalid === 0) return { lines, sha256: reader.digest() }
  throw dataError(`${formatCount(invalid, 'line')} of ${lines} cannot be sent, so nothing was`, 'correct the file')
}

export function nothingSent(error: unknown): unknown {
  if (!(error instanceof CliError) || error.code !== 'invalid_data') return error
  return dataError(`${error.message}, so nothing was sent`, error.hint)
}
