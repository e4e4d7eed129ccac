import { TextDecoder } from 'node:util'
import { dataError } from '../errors/errors.ts'

/** True for a name of the Encoding Standard, such as `windows-1252`. */
export function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label) !== undefined
  } catch {
    return false
  }
}

/** For a file whose bytes are not UTF-8: no other encoding can be told from its bytes. */
export const encodingHint = '--encoding windows-1252 reads what Excel saves as CSV in Western Europe'

/**
 * Transcodes to UTF-8. A byte order mark of UTF-8 or UTF-16 takes precedence over `encoding`; without either, the bytes
 * are unchanged.
 *
 * @throws CliError invalid_data if a text is damaged
 */
export async function* toUtf8(
  chunks: AsyncIterable<Buffer>,
  name: string,
  encoding?: string | undefined,
): AsyncGenerator<Buffer> {
  let start: Buffer | null = Buffer.alloc(0)
  let decoder: TextDecoder | null = null
  const decode = (bytes?: Buffer): Buffer => {
    try {
      return Buffer.from(decoder?.decode(bytes, { stream: bytes !== undefined }) ?? '')
    } catch {
      const known = decoder?.encoding.toUpperCase().replace(/[BL]E$/, '')
      throw dataError(`${name} is not valid ${known}`, 'save it again as CSV in UTF-8')
    }
  }
  for await (const chunk of chunks) {
    const bytes: Buffer = start?.length ? Buffer.concat([start, chunk]) : chunk
    if (start !== null && bytes.length < 3) {
      start = bytes
      continue
    }
    if (start !== null) decoder = openDecoder(bytes, encoding)
    start = null
    yield decoder ? decode(bytes) : bytes
  }
  if (start?.length) {
    decoder = openDecoder(start, encoding)
    yield decoder ? decode(start) : start
  }
  if (decoder) yield decode()
}

/** Null for UTF-8. */
function openDecoder([first, second, third]: Uint8Array, encoding: string | undefined): TextDecoder | null {
  const marked =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : undefined
  const isUtf8 = first === 0xef && second === 0xbb && third === 0xbf
  const found = marked ?? (isUtf8 ? undefined : encoding)
  return found === undefined ? null : new TextDecoder(found, { fatal: true, ignoreBOM: true })
}
