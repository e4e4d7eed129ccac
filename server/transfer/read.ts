import { createHash } from 'node:crypto'
import { OperatorError } from '../../src/contract/index.ts'
import { type End, formatVersion, type Header, readEnd, readHeader, readRow } from './format.ts'
import { type Line, linesOf } from './lines.ts'
import type { TableName } from './tables.ts'

/** What there is in a line. */
export type Entry =
  | { readonly kind: 'header'; readonly header: Header }
  | { readonly kind: 'row'; readonly table: TableName; readonly row: string; readonly line: number }
  | { readonly kind: 'end'; readonly end: End }

/**
 * What is in an export, in its order. The end comes last, and only where it is the end and all before it is as it was
 * written: until then nothing of it may count. Throws an OperatorError for anything else.
 */
export async function* entriesOf(source: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Entry> {
  const hash = createHash('sha256')
  let end: End | null = null
  let last = 0
  for await (const { number, bytes } of wellFormed(source, name)) {
    const text = decode(bytes, number, name)
    last = number
    if (end) throw refused(name, `it goes on after its end, in line ${number}`, 'one export is one file')
    if (number === 1) {
      yield { kind: 'header', header: headerOf(text, name) }
    } else {
      end = readEnd(text)
      const row = end ? null : readRow(text)
      if (row) yield { kind: 'row', ...row, line: number }
      else if (!end) throw refused(name, `line ${number} is no row of a table`)
    }
    if (!end) hash.update(bytes)
  }
  if (last === 0) throw refused(name, 'it is empty')
  if (!end) throw refused(name, `it is cut off after line ${last}`)
  if (end.sha256 !== hash.digest('hex'))
    throw refused(name, 'it is not as it was written: its SHA-256 is another one')
  yield { kind: 'end', end }
}

/** What is wrong with an export. */
export function refused(name: string, what: string, hint = 'export it again'): OperatorError {
  return new OperatorError(`nothing of ${name} was imported: ${what}`, { obstacle: 'invalid', hint })
}

function headerOf(text: string, name: string): Header {
  const header = readHeader(text)
  const hint = 'consentctl admin export makes one'
  if (!header) throw refused(name, 'it is no export of a database', hint)
  const { consentctl_export: version } = header
  if (version !== formatVersion)
    throw refused(name, `it is an export of format ${version}, and this version reads ${formatVersion}`)
  return header
}

/** The lines, each of which has an end. */
async function* wellFormed(source: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Line> {
  try {
    for await (const line of linesOf(source)) {
      if (line.bytes.at(-1) !== 10) throw refused(name, `it is cut off in line ${line.number}`)
      yield line
    }
  } catch (error) {
    throw error instanceof RangeError ? refused(name, error.message) : error
  }
}

function decode(bytes: Buffer, number: number, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, -1))
  } catch {
    throw refused(name, `line ${number} is not valid UTF-8`)
  }
}
