import { parseExactJson } from '../../src/contract/index.ts'
import { Failure } from '../failure.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A request body as JSON in UTF-8, exactly as it was sent. Throws `invalid_request`. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return parseExactJson(utf8.decode(bytes))
  } catch (cause) {
    const problem = cause instanceof SyntaxError ? cause.message : 'is not UTF-8'
    throw new Failure('invalid_request', `The body ${problem}.`, { cause })
  }
}
