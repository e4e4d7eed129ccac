import { parseExactJson } from '../../src/contract/index.ts'
import { Failure } from '../failure.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A request body as JSON in UTF-8, exactly as it was sent. Throws `invalid_request`. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return parseExactJson(decode(bytes))
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw new Failure('invalid_request', `The body ${cause.message}.`, { cause })
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new SyntaxError('is not UTF-8', { cause })
  }
}
