import { createReadStream } from 'node:fs'
import { type CliError, dataError, usageError } from '../errors/errors.ts'
import type { Io } from './io.ts'

/** Bytes. Far above any record, and far below what would fill the memory. */
export const longestLine = 1024 * 1024

/** A line with its number, from 1. */
export interface Line {
  readonly number: number
  /** Without the line terminator. */
  readonly bytes: Buffer
  /** Bytes of the terminator, which follow those in memory. */
  readonly end: number
}

/** Returns a line with its terminator. */
export function rawOf({ bytes, end }: Line): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length + end)
}

/** Yields the lines of a file, or of stdin for `-`, as `splitLines` does. */
export function readLines(io: Io, source: string): AsyncGenerator<Line> {
  return splitLines(readChunks(io, source), nameOf(source))
}

/**
 * Yields the lines of a stream, which end in LF or CRLF. Empty lines are skipped. With `quoted` a line does not end within
 * quotation marks, as in CSV (RFC 4180 section 2).
 *
 * @throws CliError invalid_data at a line that is longer than 1 MiB, because it may never end
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  name: string,
  options?: { readonly quoted: boolean },
): AsyncGenerator<Line> {
  for await (const lines of splitTogether(chunks, name, options)) for (const line of lines) yield line
}

/** Yields the same lines in arrays, which are never empty, one for each chunk that ends a line. */
export async function* splitTogether(
  chunks: AsyncIterable<Buffer>,
  name: string,
  { quoted } = { quoted: false },
): AsyncGenerator<readonly Line[]> {
  let number = 1
  let rest: Buffer = Buffer.alloc(0)
  let ends = 0 // terminators within the present line, because of open quotation marks
  let scanned = 0 // bytes of the present line up to the last of those
  let isOpen = false
  for await (const chunk of chunks) {
    const bytes: Buffer = rest.length ? Buffer.concat([rest, chunk]) : chunk
    let start = 0
    const lines: Line[] = []
    for (let end = bytes.indexOf(10, scanned); end !== -1; end = bytes.indexOf(10, scanned)) {
      if (quoted && hasOddQuotes(bytes.subarray(scanned, end))) isOpen = !isOpen
      scanned = end + 1
      ends += 1
      if (isOpen) continue
      const line = toLine(bytes, start, scanned, number)
      if (isTooLong(line.bytes)) break
      if (line.bytes.length > 0) lines.push(line)
      number += ends
      ends = 0
      start = scanned
    }
    if (lines.length > 0) yield lines
    rest = bytes.subarray(start)
    scanned -= start
    if (rest.length > longestLine + 1) throw tooLong(number, name)
  }
  const last = toLine(rest, 0, rest.length, number)
  if (isTooLong(last.bytes)) throw tooLong(number, name)
  if (last.bytes.length > 0) yield [last]
}

function hasOddQuotes(bytes: Buffer): boolean {
  let isOdd = false
  for (let at = bytes.indexOf(34); at !== -1; at = bytes.indexOf(34, at + 1)) isOdd = !isOdd
  return isOdd
}

/** Reads a whole file, or stdin for `-`, as UTF-8 of at most 1 MiB. */
export async function readText(io: Io, source: string): Promise<string> {
  return decode(await readBytes(io, source, 1), nameOf(source))
}

/** Reads a whole file, or stdin for `-`, of at most `most` MiB. */
export async function readBytes(io: Io, source: string, most: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of readChunks(io, source)) {
    length += chunk.length
    if (length > most * 1024 * 1024) throw dataError(`${nameOf(source)} is larger than ${most} MiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Removes a byte order mark. @throws CliError invalid_data for what is not UTF-8, rather than U+FFFD in the records */
export function decode(bytes: Uint8Array, name: string): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw dataError(`${name} is not valid UTF-8`)
  }
}

export function nameOf(source: string): string {
  return source === '-' ? 'standard input' : source
}

/** Yields the bytes of a file, or of stdin for `-`. @throws UsageError if they cannot be read, or once `signal` is aborted */
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
  return usageError(
    code === 'ENOENT' ? `no such file: ${source}` : `${nameOf(source)} cannot be read: ${message}`,
  )
}

function toLine(chunk: Buffer, start: number, stop: number, number: number): Line {
  let last = stop
  if (last > start && chunk[last - 1] === 10) last -= 1
  if (last > start && chunk[last - 1] === 13) last -= 1
  return { number, bytes: chunk.subarray(start, last), end: stop - last }
}

function isTooLong({ length }: Buffer): boolean {
  return length > longestLine
}

function tooLong(number: number, name: string): CliError {
  return dataError(`line ${number} of ${name} is longer than 1 MiB`)
}
