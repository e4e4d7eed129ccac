import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseExactJson } from '../../src/contract/index.ts'
import { Failure } from '../failure.ts'
import { countHeader } from '../net/request.ts'
import { wrongMediaType } from './errors.ts'

/** Node would silently use the first. */
const singleHeaders = ['host', 'content-type', 'content-encoding']

/** RFC 3986 section 3.2.2, with a port. */
const hostPattern = /^([\w.~%!$&'()*+;=-]*|\[[\da-f:.]+\])(:\d*)?$/i

const charsetPattern = /;\s*charset\s*=\s*"?([^";\s]*)/i

/**
 * Rejects requests that proxies may read differently: version, target or host (RFC 9112 sections 2.3, 3.2), a transfer
 * coding other than chunked (section 6.1), a repeated header.
 * @throws Failure `invalid_request`
 */
export function rejectAmbiguousRequest(request: IncomingMessage): void {
  const { headers, httpVersion, url = '' } = request
  const isRepeated = singleHeaders.some(name => countHeader(request, name) > 1)
  const hasHost = headers.host === undefined ? httpVersion === '1.0' : hostPattern.test(headers.host)
  const coding = headers['transfer-encoding'] ?? 'chunked'
  const hasPath = /^(https?:\/\/[^/]+)?\/[^#]*$/i.test(url) // the router would take * and http://x for /
  const isPlain = /^1\.[01]$/.test(httpVersion) && hasPath && coding.toLowerCase() === 'chunked'
  if (isRepeated || !hasHost || !isPlain) throw new Failure('invalid_request', 'The request is malformed.')
  if (!isUtf8(headers['content-type'] ?? '') || !/^(identity)?$/i.test(headers['content-encoding'] ?? '')) {
    throw wrongMediaType()
  }
}

/** JSON is UTF-8 (RFC 8259 section 8.1). */
function isUtf8(contentType: string): boolean {
  return contentType.split(/(?=;)/).every(part => /^(utf-?8)?$/i.test(charsetPattern.exec(part)?.[1] ?? ''))
}

export function mediaType({ headers }: Pick<FastifyRequest, 'headers'>): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

/** Ignores the body of a DELETE (RFC 9110 section 9.3.5). */
export function installParsers(app: FastifyInstance): void {
  app.addHttpMethod('DELETE', { overrideExisting: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    parseJson(body),
  )
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    const { bodyMedia = [] } = request.routeOptions.config
    if (!bodyMedia.includes(mediaType(request))) throw wrongMediaType(bodyMedia)
    return body
  })
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @throws Failure `invalid_request` for a body that is not JSON in UTF-8 */
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

const noParameters: Record<string, string> = Object.freeze({})

/**
 * Parses an HTML form's encoding strictly.
 * @throws Failure `invalid_request` for a repeated name, and for escapes that are not UTF-8
 */
export function parseQuery(url: string): Record<string, string> {
  const start = url.indexOf('?')
  if (start === -1) return noParameters
  const values: Record<string, string> = Object.create(null)
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeComponent(equals === -1 ? pair : pair.slice(0, equals))
    if (name in values) throw new Failure('invalid_request', `The query parameter ${name} is repeated.`)
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

/** RFC 7240 section 4.2. The first of a repeated preference counts. */
export function prefersMinimal(header: string | undefined): boolean {
  const [first] = (header ?? '').split(/[,\n]/).filter(one => /^\s*return\s*=/i.test(one))
  return first !== undefined && /=\s*(?:minimal|"minimal")\s*(?:;.*)?$/i.test(first)
}

/** Returns true if `Accept` prefers application/x-ndjson to JSON (RFC 9110 section 12.5.1). */
export function prefersLines(header: string | undefined): boolean {
  const weights = new Map(
    (header ?? '').split(/[,\n]/).map(range => {
      const [type = '', ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
      const weight = parameters.find(parameter => parameter.startsWith('q='))
      return [type, weight ? Number(weight.slice(2)) : 1]
    }),
  )
  const weightOf = (...types: string[]) => Math.max(...types.map(type => weights.get(type) ?? 0))
  return weightOf('application/x-ndjson') > weightOf('application/json', 'application/*', '*/*')
}

const smallBodyBytes = 16 * 1024

/** Returns true if Node would read a large or endless body after the rejection. */
export function hasLargeRest({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > smallBodyBytes
}
