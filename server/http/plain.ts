import type { IncomingMessage } from 'node:http'
import { Failure } from '../failure.ts'
import { wrongMediaType } from './failures.ts'

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
