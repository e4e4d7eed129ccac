import type { Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { CliError, dataError, exit, usageError } from '../errors/errors.ts'
import type { Io } from './io.ts'

/** In bytes. */
export const longestLine = 1024 * 1024

export interface Line {
  /** 1-based. */
  readonly number: number
  /** Without the line terminator. */
  readonly bytes: Buffer
  readonly end: number
}

/** Including the terminator. */
export function rawOf({ bytes, end }: Line): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length + end)
}

/** `-` is stdin. */
export function readLines(io: Io, source: string): AsyncGenerator<Line> {
  return splitLines(readChunks(io, source), nameOf(source))
}

export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  name: string,
  options?: { readonly quoted: boolean },
): AsyncGenerator<Line> {
  for await (const lines of splitTogether(chunks, name, options)) yield* lines
}

/**
 * Yields the non-empty lines that each chunk completes, ended by LF or CRLF. With `quoted`, lines do not end within
 * quotation marks (RFC 4180 section 2).
 *
 * @throws CliError invalid_data at a line over 1 MiB
 */
export async function* splitTogether(
  chunks: AsyncIterable<Buffer>,
  name: string,
  { quoted } = { quoted: false },
): AsyncGenerator<readonly Line[]> {
  const scan: Scan = { position: 0, terminators: 0, isOpen: false }
  let number = 1
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes: Buffer = rest.length ? Buffer.concat([rest, chunk]) : chunk
    const lines: Line[] = []
    let start = 0
    while (findEnd(bytes, scan, quoted)) {
      const line = toLine(bytes, start, scan.position, number)
      if (isTooLong(line)) break
      lines.push(line)
      number += scan.terminators
      scan.terminators = 0
      start = scan.position
    }
    const filled = lines.filter(isFilled)
    if (filled.length > 0) yield filled
    rest = bytes.subarray(start)
    scan.position -= start
    if (rest.length > longestLine + 1) throw tooLong(number, name, scan)
  }
  const last = toLine(rest, 0, rest.length, number)
  if (isTooLong(last)) throw tooLong(number, name, scan)
  if (isFilled(last)) yield [last]
}

interface Scan {
  /** Position after the last terminator. */
  position: number
  /** Number of terminators, several in a quoted line. */
  terminators: number
  isOpen: boolean
}

/** False if the line's end is not in `bytes`. */
function findEnd(bytes: Buffer, scan: Scan, quoted: boolean): boolean {
  for (let at = bytes.indexOf(10, scan.position); at !== -1; at = bytes.indexOf(10, scan.position)) {
    if (quoted && hasOddQuotes(bytes.subarray(scan.position, at))) scan.isOpen = !scan.isOpen
    scan.position = at + 1
    scan.terminators += 1
    if (!scan.isOpen) return true
  }
  return false
}

function hasOddQuotes(bytes: Buffer): boolean {
  let isOdd = false
  for (let at = bytes.indexOf(34); at !== -1; at = bytes.indexOf(34, at + 1)) isOdd = !isOdd
  return isOdd
}

/** Reads up to 1 MiB of UTF-8; `-` is stdin. */
export async function readText(io: Io, source: string): Promise<string> {
  return decode(await readBytes(io, source, 1), nameOf(source))
}

/** `-` is stdin. @throws CliError invalid_data above `maxMiB` */
export async function readBytes(io: Io, source: string, maxMiB: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of readChunks(io, source)) {
    length += chunk.length
    if (length > maxMiB * 1024 * 1024) throw dataError(`${nameOf(source)} is larger than ${maxMiB} MiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Removes a byte order mark. @throws CliError invalid_data unless UTF-8 */
export function decode(bytes: Uint8Array, name: string): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw dataError(`${name} is not valid UTF-8`, 'save the file again in UTF-8')
  }
}

export function nameOf(source: string): string {
  return source === '-' ? 'standard input' : source
}

/** `-` is stdin. @throws CliError (usage) on failure or abort */
export async function* readChunks(io: Io, source: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const stream = source === '-' ? io.stdin : createReadStream(source)
  signal?.addEventListener('abort', () => stream.destroy?.(), { once: true })
  try {
    for await (const chunk of stream) yield Buffer.from(chunk)
  } catch (error) {
    throw unreadable(source, error)
  }
}

export interface Source {
  readonly isFile: boolean
  /** Starts at the beginning of a file on each call; a stream can be read only once. */
  read(): AsyncGenerator<Buffer>
  close(): Promise<void>
}

/** `-` is stdin. The signal ends a stream; a file must not change. @throws CliError (usage) if it cannot be read */
export async function openSource(io: Io, file: string, signal: AbortSignal): Promise<Source> {
  const fail = (error: unknown): never => {
    throw unreadable(file, error)
  }
  const isFile = file !== '-' && (await stat(file).catch(fail)).isFile()
  const handle = isFile ? await open(file).catch(fail) : null
  const read = handle ? await readUnchanged(handle, file) : () => readChunks(io, file, signal)
  return { isFile, read, close: async () => handle?.close() }
}

export function unreadable(source: string, error: unknown): CliError {
  const { code, message } = error as NodeJS.ErrnoException
  return usageError(code === 'ENOENT' ? `no such file: ${source}` : `${nameOf(source)} cannot be read: ${message}`)
}

/** Returns a reader of the file from its beginning. The reader throws if the file has changed since this call. */
export async function readUnchanged(handle: FileHandle, file: string): Promise<() => AsyncGenerator<Buffer>> {
  const first = await handle.stat({ bigint: true })
  return async function* () {
    for (let position = 0; ; ) {
      const { bytesRead, buffer } = await handle
        .read(Buffer.allocUnsafe(65_536), 0, 65_536, position)
        .catch((error: unknown) => {
          throw unreadable(file, error)
        })
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

function toLine(chunk: Buffer, start: number, stop: number, number: number): Line {
  let last = stop
  if (last > start && chunk[last - 1] === 10) last -= 1
  if (last > start && chunk[last - 1] === 13) last -= 1
  return { number, bytes: chunk.subarray(start, last), end: stop - last }
}

function isTooLong({ bytes }: Line): boolean {
  return bytes.length > longestLine
}

/** False for a line of blanks alone. */
export function hasText({ bytes }: Line): boolean {
  return bytes.some(byte => byte !== 32 && byte !== 9 && byte !== 13)
}

function isFilled({ bytes }: Line): boolean {
  return bytes.length > 0
}

function tooLong(number: number, name: string, { isOpen, terminators }: Scan): CliError {
  const joined = `: a quotation mark is not closed in lines ${number} to ${number + terminators}`
  return dataError(`line ${number} of ${name} is longer than 1 MiB${isOpen ? joined : ''}`)
}

export async function* hashed(chunks: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}
