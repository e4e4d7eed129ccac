import type { FastifyInstance } from 'fastify'
import { parseExactJson } from '../../src/contract/index.ts'
import { Failure } from '../failure.ts'
import { wrongMediaType } from './failures.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A request body as JSON in UTF-8, exactly as it was sent. Throws `invalid_request`. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return parseExactJson(decodeUtf8(bytes))
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw new Failure('invalid_request', `The body ${cause.message}.`, { cause })
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new SyntaxError('is not UTF-8', { cause })
  }
}

/** JSON in UTF-8 and nothing else; a DELETE's body means nothing (RFC 9110 section 9.3.5), and is not looked at. */
export function installParsers(app: FastifyInstance): void {
  app.addHttpMethod('DELETE', { overrideExisting: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => parseJson(body),
  )
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async () => {
    throw wrongMediaType()
  })
}

const none: Record<string, string> = Object.freeze({})

/**
 * The query string of a URL by the rules of HTML forms, as one value a name. Throws `invalid_request` for a name
 * given twice and for escapes that are no UTF-8: a filter that is read otherwise than meant shows other people's rows.
 */
export function parseQuery(url: string): Record<string, string> {
  const start = url.indexOf('?')
  if (start === -1) return none
  const values: Record<string, string> = Object.create(null)
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeComponent(equals === -1 ? pair : pair.slice(0, equals))
    if (name in values) throw new Failure('invalid_request', `The query parameter ${name} is given twice.`)
    values[name] = equals === -1 ? '' : decodeComponent(pair.slice(equals + 1))
  }
  return values
}

function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw new Failure('invalid_request', 'The query string has a malformed percent-encoding.', { cause })
  }
}

/** Whether a header `Prefer` asks for a minimal answer (RFC 7240 section 4.2). Of a preference given twice the first counts. */
export function prefersMinimal(header: string | undefined): boolean {
  const [first] = (header ?? '').split(/[,\n]/).filter(one => /^\s*return\s*=/i.test(one))
  return first !== undefined && /=\s*(?:minimal|"minimal")\s*(?:;.*)?$/i.test(first)
}
