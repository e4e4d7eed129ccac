import { TextDecoder } from 'node:util'
import { dataError } from '../errors/errors.ts'

/**
 * Transcodes UTF-16 with a byte order mark to UTF-8 with one; other input is unchanged.
 *
 * @throws CliError invalid_data if the UTF-16 is damaged
 */
export async function* toUtf8(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let start: Buffer | null = Buffer.alloc(0)
  let decoder: TextDecoder | null = null
  const decode = (bytes?: Buffer): Buffer => {
    try {
      return Buffer.from(decoder?.decode(bytes, { stream: bytes !== undefined }) ?? '')
    } catch {
      throw dataError(`${name} is not valid UTF-16`, 'save it again as CSV in UTF-8')
    }
  }
  for await (const chunk of chunks) {
    const bytes: Buffer = start?.length ? Buffer.concat([start, chunk]) : chunk
    if (start !== null && bytes.length < 2) {
      start = bytes
      continue
    }
    if (start !== null) decoder = utf16Decoder(bytes)
    start = null
    yield decoder ? decode(bytes) : bytes
  }
  if (start?.length) yield start
  if (decoder) yield decode()
}

function utf16Decoder([first, second]: Uint8Array): TextDecoder | null {
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : null
  return encoding && new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
}
