import { createReadStream } from 'node:fs'
import { type CliError, dataError, usageError } from '../errors/errors.ts'
import type { Io } from './io.ts'

/** Maximum bytes: far above any record, far below the memory. */
export const longestLine = 1024 * 1024

export interface Line {
  /** 1-based. */
  readonly number: number
  /** Without the line terminator. */
  readonly bytes: Buffer
  /** Length of the terminator, which follows `bytes` in memory. */
  readonly end: number
}

/** Includes the terminator. */
export function rawOf({ bytes, end }: Line): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length + end)
}

/** Reads a file, or stdin for `-`. */
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
 * Yields the non-empty lines that each chunk completes, ended by LF or CRLF. With `quoted`, a line does not end within
 * quotation marks, as in CSV (RFC 4180 section 2).
 *
 * @throws CliError invalid_data at a line over 1 MiB, which may never end
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
  /** Offset in the current bytes after the last terminator. */
  position: number
  /** Several in a line with quotation marks. */
  terminators: number
  isOpen: boolean
}

/** Moves `scan` to the end of the current line; false if it is not in `bytes`. */
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

/** Reads up to 1 MiB of UTF-8 from a file, or from stdin for `-`. */
export async function readText(io: Io, source: string): Promise<string> {
  return decode(await readBytes(io, source, 1), nameOf(source))
}

/** Reads a file, or stdin for `-`. @throws CliError invalid_data if it is larger than `maxMiB` */
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

/** Removes a byte order mark. @throws CliError invalid_data if the bytes are not UTF-8 */
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

/** Reads a file, or stdin for `-`. @throws CliError (usage) if that fails or `signal` is aborted */
export async function* readChunks(io: Io, source: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const stream = source === '-' ? io.stdin : createReadStream(source)
  signal?.addEventListener('abort', () => stream.destroy?.(), { once: true })
  try {
    for await (const chunk of stream) yield Buffer.from(chunk)
  } catch (error) {
    throw unreadable(source, error)
  }
}

export function unreadable(source: string, error: unknown): CliError {
  const { code, message } = error as NodeJS.ErrnoException
  return usageError(code === 'ENOENT' ? `no such file: ${source}` : `${nameOf(source)} cannot be read: ${message}`)
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

function isFilled({ bytes }: Line): boolean {
  return bytes.length > 0
}

function tooLong(number: number, name: string, { isOpen, terminators }: Scan): CliError {
  const joined = `: a quotation mark is not closed in lines ${number} to ${number + terminators}`
  return dataError(`line ${number} of ${name} is longer than 1 MiB${isOpen ? joined : ''}`)
}
