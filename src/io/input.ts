import { createReadStream } from 'node:fs'
import { type CliError, dataError, usageError } from '../errors/errors.ts'
import type { Io } from './io.ts'

/** The longest line that is read, in bytes: far over any record, far under what would fill the memory. */
export const longestLine = 1024 * 1024

/** A line and its number, from 1. */
export interface Line {
  readonly number: number
  /** As they came, without the line's end. */
  readonly bytes: Buffer
  /** How many bytes its end has, behind those. */
  readonly end: number
}

/** A line with its end, where it has one. */
export function rawOf({ bytes, end }: Line): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length + end)
}

/** The lines of a file, or of stdin for `-`, as `splitLines` makes them. */
export function readLines(io: Io, source: string): AsyncGenerator<Line> {
  return splitLines(readChunks(io, source), nameOf(source))
}

/**
 * The lines of a stream; CRLF ends a line too, and blank lines are passed over. With `quoted` a line goes on while a
 * quotation mark is open, as records of CSV do (RFC 4180 section 2). Throws a data error at a line that is too long, for
 * it may never end.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  name: string,
  options?: { readonly quoted: boolean },
): AsyncGenerator<Line> {
  for await (const lines of splitTogether(chunks, name, options)) for (const line of lines) yield line
}

/** The same, with all lines together that are there at once; never none. */
export async function* splitTogether(
  chunks: AsyncIterable<Buffer>,
  name: string,
  { quoted } = { quoted: false },
): AsyncGenerator<readonly Line[]> {
  let number = 1
  let rest: Buffer = Buffer.alloc(0)
  let ends = 0 // within the present line, for quotation marks were open
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

/** A whole file, or stdin for `-`, as UTF-8 text of at most 1 MiB. */
export async function readText(io: Io, source: string): Promise<string> {
  return decode(await readBytes(io, source, 1), nameOf(source))
}

/** A whole file, or stdin for `-`, of at most so many MiB. */
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

/** UTF-8 as text, without a byte order mark; anything else is an error rather than U+FFFD in the records. */
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

/** The bytes of a file, or of stdin for `-`. Throws a usage error where they cannot be read, or when the signal says so. */
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
    code === 'ENOENT' ? `there is no file ${source}` : `${nameOf(source)} cannot be read: ${message}`,
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
