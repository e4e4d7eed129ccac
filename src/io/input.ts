import { createReadStream } from 'node:fs'
import { type CliError, dataError, usageError } from '../errors.ts'
import type { Io } from './io.ts'

/** The longest line that is read, in bytes: far over any record, far under what would fill the memory. */
const longestLine = 1024 * 1024

/** A line and its number, from 1; `bytes` as they came, without the line's end. */
export interface Line {
  readonly number: number
  readonly bytes: Uint8Array
}

/**
 * The lines of a file, or of stdin for `-`, as a stream; CRLF ends a line too, and blank lines are passed over. Throws
 * a data error at a line that is too long, for it may never end.
 */
export async function* readLines(io: Io, source: string): AsyncGenerator<Line> {
  let number = 1
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of open(io, source)) {
    let bytes: Buffer = rest.length ? Buffer.concat([rest, chunk]) : chunk
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10)) {
      const line = checked(bytes.subarray(0, end), number, source)
      if (line.length > 0) yield { number, bytes: line }
      number += 1
      bytes = bytes.subarray(end + 1)
    }
    if (bytes.length > longestLine + 1) checked(bytes, number, source)
    rest = bytes
  }
  const last = checked(rest, number, source)
  if (last.length > 0) yield { number, bytes: last }
}

/** A whole file, or stdin for `-`, as UTF-8 text of at most 1 MiB. */
export async function readText(io: Io, source: string): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of open(io, source)) {
    length += chunk.length
    if (length > longestLine) throw dataError(`${nameOf(source)} is larger than 1 MiB`)
    chunks.push(chunk)
  }
  return decode(Buffer.concat(chunks), nameOf(source))
}

/** UTF-8 as text, without a byte order mark; anything else is an error rather than U+FFFD in the records. */
export function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw dataError(`${name} is not valid UTF-8`)
  }
}

export function nameOf(source: string): string {
  return source === '-' ? 'standard input' : source
}

async function* open(io: Io, source: string): AsyncGenerator<Buffer> {
  const stream = source === '-' ? io.stdin : createReadStream(source)
  try {
    for await (const chunk of stream) yield Buffer.from(chunk)
  } catch (error) {
    throw unreadable(source, error)
  }
}

function unreadable(source: string, error: unknown): CliError {
  const { code, message } = error as NodeJS.ErrnoException
  return usageError(
    code === 'ENOENT' ? `there is no file ${source}` : `${nameOf(source)} cannot be read: ${message}`,
  )
}

/** A line without the CR at its end, if it is not too long. */
function checked(bytes: Buffer, number: number, source: string): Buffer {
  const line = bytes.at(-1) === 13 ? bytes.subarray(0, -1) : bytes
  if (line.length > longestLine) throw dataError(`line ${number} of ${nameOf(source)} is longer than 1 MiB`)
  return line
}
