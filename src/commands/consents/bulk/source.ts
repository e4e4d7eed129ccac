import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../../../context.ts'
import { ConsentDraft } from '../../../contract/consent.ts'
import { text } from '../../../contract/values.ts'
import { CliError, dataError } from '../../../errors/errors.ts'
import { exit } from '../../../errors/exit.ts'
import { decode, type Line, nameOf, readChunks, splitLines, unreadable } from '../../../io/input.ts'
import { readObject } from '../fields.ts'

export type InputFormat = 'ndjson' | 'csv'

/** A line with what it asks to create, or with why it is no record. */
export interface Entry {
  readonly line: Line
  readonly body: ConsentDraft | null
  readonly error: unknown
}

/** Where the lines of a bulk create come from. */
export interface Source {
  /** The file's absolute path, where it can be read twice; null for a stream. */
  readonly path: string | null
  /** From the first line on, each time; a stream can be read once. */
  entries(): AsyncGenerator<Entry>
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
}

/** Opens a file, or stdin for `-`; the signal ends a stream that may never end by itself. Throws a usage error where it cannot be read. */
export async function openSource(ctx: Context, options: SourceOptions, signal: AbortSignal): Promise<Source> {
  const { file } = options
  const isFile = file !== '-' && (await stat(file).catch(refuse(file))).isFile()
  const handle = isFile ? await open(file).catch(refuse(file)) : null
  const read = handle ? await unchanging(handle, file) : () => readChunks(ctx.io, file, signal)
  let hash = createHash('sha256')
  let header: Uint8Array | null = null
  async function* entries(): AsyncGenerator<Entry> {
    hash = createHash('sha256')
    const lines = splitLines(hashed(read(), hash), nameOf(file), { quoted: options.format === 'csv' })
    let fieldsOf = options.format === 'csv' ? null : jsonFields
    for await (const line of lines) {
      if (fieldsOf) {
        yield entryOf(line, fieldsOf, options.site)
        continue
      }
      const { csvReader } = await import('./csv.ts')
      fieldsOf = await csvReader(line, options.unguard)
      header = line.raw
    }
  }
  return {
    path: handle ? resolve(file) : null,
    entries,
    digest: () => hash.copy().digest('hex'),
    header: () => header,
    close: async () => handle?.close(),
  }
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

/** The contract's draft, but for the site: another instance may write ids in its own way. */
const Draft = ConsentDraft.extend({ site_id: text(1, 255) })

function entryOf(line: Line, fieldsOf: (line: Line) => object, site: string | undefined): Entry {
  try {
    return { line, body: checked({ site_id: site, ...fieldsOf(line) }, `line ${line.number}`), error: null }
  } catch (error) {
    return { line, body: null, error }
  }
}

function jsonFields({ number, bytes }: Line): object {
  const name = `line ${number}`
  return readObject(decode(bytes, name), name)
}

/** The fields as they are, where they make a record. Throws a data error that begins with the line's number. */
function checked(fields: { site_id: unknown }, place: string): ConsentDraft {
  if (fields.site_id === undefined) throw dataError(`${place} has no site_id, and no --site is given`)
  const parsed = Draft.safeParse(fields)
  if (parsed.success) return fields as ConsentDraft
  const [issue] = parsed.error.issues
  if (issue?.code === 'unrecognized_keys') {
    const known = Object.keys(ConsentDraft.shape).join(', ')
    throw dataError(`${place}: "${issue.keys[0]}" is no field of a new record`, `there are: ${known}`)
  }
  throw dataError(`${place}: ${issue?.path.join('.')} ${issue?.message}`)
}
