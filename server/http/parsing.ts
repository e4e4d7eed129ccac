import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { parseExactJson } from '../../src/contract/index.ts'
import { Failure } from '../failure.ts'
import { wrongMediaType } from './errors.ts'

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

/** Headers that say one thing or nothing: of two, Node would keep the first and drop the other. */
const single = ['host', 'content-type', 'content-encoding']

/** A host and its port (RFC 3986 section 3.2.2). */
const host = /^([\w.~%!$&'()*+;=-]*|\[[\da-f:.]+\])(:\d*)?$/i

const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i

/**
 * What Node lets pass although it can be read in two ways: an unusual version, target or host (RFC 9112 sections 2.3, 3.2),
 * a transfer coding besides chunked (section 6.1), a header given twice. Throws `invalid_request`.
 */
export function requirePlainRequest(request: IncomingMessage): void {
  const { headers, httpVersion, url = '' } = request
  const isTwice = single.some(name => countHeader(request, name) > 1)
  const isHosted = headers.host === undefined ? httpVersion === '1.0' : host.test(headers.host)
  const coding = headers['transfer-encoding'] ?? 'chunked'
  const isPlain = /^1\.[01]$/.test(httpVersion) && !url.includes('#') && coding.toLowerCase() === 'chunked'
  if (isTwice || !isHosted || !isPlain) throw new Failure('invalid_request', 'The request is malformed.')
  if (!isUtf8(headers['content-type'] ?? '') || !/^(identity)?$/i.test(headers['content-encoding'] ?? '')) {
    throw wrongMediaType()
  }
}

/** A header by its name in lower case; one that was sent twice holds a line break. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const { rawHeaders } = request
  let found: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!isName(rawHeaders[index], name)) continue
    const value = rawHeaders[index + 1] ?? ''
    found = found === undefined ? value : `${found}\n${value}`
  }
  return found
}

/** How often a request has a header, by its name in lower case. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) if (isName(rawHeaders[index], name)) count += 1
  return count
}

function isName(text: string | undefined, name: string): boolean {
  return text?.length === name.length && text.toLowerCase() === name
}

/** Whether a content type names UTF-8, or no charset (RFC 8259 section 8.1: there is no other for JSON). */
function isUtf8(contentType: string): boolean {
  return contentType.split(/(?=;)/).every(part => /^(utf-?8)?$/i.test(charset.exec(part)?.[1] ?? ''))
}
