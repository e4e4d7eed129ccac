import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../../../context.ts'
import { CliError, exit, usageError } from '../../../errors/errors.ts'
import { type Line, nameOf, rawOf, readChunks, splitTogether, unreadable } from '../../../io/input.ts'
import { bodyOf, type Entry, entryOf, jsonFields, jsonFieldsAgain, uncheckedBodyOf } from './entry.ts'

export type InputFormat = 'ndjson' | 'csv'

/** Where the lines of a bulk create come from. */
export interface Source {
  /** What it is called in messages: the file as it was given, or standard input. */
  readonly name: string
  /** The file's absolute path, where it can be read twice; null for a stream. */
  readonly path: string | null
  /**
   * From the first line on, each time, and all together that are there at once; a stream can be read once. Lines that were
   * checked, all of them, are just read.
   */
  entries(areChecked?: boolean): AsyncGenerator<readonly Entry[]>
  /** The SHA-256 of all that the last reading went through, in hexadecimal. */
  digest(): string
  /** The line that names the columns, as it came; null where there is none. */
  header(): Uint8Array | null
  close(): Promise<void>
}

export interface SourceOptions {
  readonly file: string
  readonly format: InputFormat
  /** The site of lines that name none. */
  readonly site: string | undefined
  readonly unguard: boolean
  /** Whether an earlier run has read it. */
  readonly isResumed: boolean
}

/** Opens a file, or stdin for `-`; the signal ends a stream that may never end by itself. Throws a usage error where it cannot be read. */
export async function openSource(ctx: Context, options: SourceOptions, signal: AbortSignal): Promise<Source> {
  const { file } = options
  const name = nameOf(file)
  const isFile = file !== '-' && (await stat(file).catch(refuse(file))).isFile()
  const handle = isFile ? await open(file).catch(refuse(file)) : null
  const read = handle ? await unchanging(handle, file) : () => readChunks(ctx.io, file, signal)
  let hash = createHash('sha256')
  let header: Uint8Array | null = null
  async function* entries(areChecked = false): AsyncGenerator<readonly Entry[]> {
    hash = createHash('sha256')
    const chunks = splitTogether(hashed(read(), hash), name, { quoted: options.format === 'csv' })
    let fieldsOf: (line: Line) => object = areChecked ? jsonFieldsAgain : jsonFields
    let isHead = options.format === 'csv'
    let isFirst = !isHead && !options.isResumed
    const toBody = areChecked ? uncheckedBodyOf : bodyOf
    for await (const chunk of chunks) {
      const lines = chunk.filter(hasText)
      if (isHead) {
        const head = lines.shift()
        if (!head) continue
        const { csvReader } = await import('./csv.ts')
        fieldsOf = await csvReader(head, options.unguard)
        header = rawOf(head)
        isHead = false
      }
      const made = lines.map(line => entryOf(line, fieldsOf, options.site, toBody))
      if (isFirst && made[0]) {
        if (made[0].error !== null) await requireNoCsv(made[0].line, name)
        isFirst = false
      }
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

/** Whether a line is more than blanks, which stand between lines; in CSV a cell of blanks alone must have quotation marks. */
function hasText({ bytes }: Line): boolean {
  return bytes.some(byte => byte !== 32 && byte !== 9 && byte !== 13)
}

/** Throws a usage error where the first line that is no record reads like a header: all others would fail for that alone. */
async function requireNoCsv(line: Line, name: string): Promise<void> {
  const { isHeader } = await import('./csv.ts')
  if (!isHeader(line)) return
  throw usageError(
    `line ${line.number} of ${name} is no record, and reads like the header of a CSV, so nothing was sent`,
    'read it as CSV: --format csv',
  )
}

function refuse(file: string): (error: unknown) => never {
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

/** What reads a file from its beginning, and throws as soon as it is not what it was when it was opened. */
async function unchanging(handle: FileHandle, file: string): Promise<() => AsyncGenerator<Buffer>> {
  const first = await handle.stat({ bigint: true })
  return async function* () {
    for (let position = 0; ; ) {
      const { bytesRead, buffer } = await handle
        .read(Buffer.allocUnsafe(65_536), 0, 65_536, position)
        .catch(refuse(file))
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
    hint: 'let nothing write to it meanwhile',
  })
}
