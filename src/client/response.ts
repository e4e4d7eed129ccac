import type * as z from 'zod'
import { Consent, ConsentPage } from '../contract/consents.ts'
import { ErrorBody } from '../contract/errors.ts'
import type { Endpoint } from '../contract/index.ts'
import { ApiError, type Call, ContractError } from './errors.ts'
import { isExactConsent, isExactPage } from './exact-page.ts'
import { header, type Received } from './http.ts'
import type { PageResponse } from './pages.ts'
import type { Input } from './request.ts'

/** @throws ApiError; ContractError for a response that is not this service's */
export function readResponse(endpoint: Endpoint, call: Call, received: Received, as?: Input['as']): unknown {
  if (as === 'pages') return readPages(call, received)
  if (as === 'bytes' && received.bytes) return readBytes(endpoint, call, { ...received, bytes: received.bytes })
  const body = readBody(call, received, as === 'text' ? null : endpoint.response)
  return as === 'text' ? received.text : body
}

/** @throws ContractError for another media type, such as a proxy's page */
function readBytes(
  { media = [] }: Endpoint,
  call: Call,
  { head, headers, bytes }: Received & { bytes: Buffer },
): Buffer {
  const type =
    header(headers, 'content-type')
      ?.replace(/\s*;.*$/s, '')
      .toLowerCase() ?? ''
  if (media.includes(type)) return bytes
  throw new ContractError(call, head, '', `the response is not ${media.join(' or ')} (${type || 'no type'})`)
}

function readPages(call: Call, received: Received): PageResponse {
  const { rest } = received
  const read = (text: string) => readBody(call, { ...received, text }, ConsentPage) as ConsentPage
  async function* pages(lines: AsyncGenerator<string>) {
    for await (const line of lines) yield read(line)
  }
  return { first: read(received.text), rest: rest && pages(rest) }
}

function readBody(call: Call, received: Received, schema: z.ZodType | null): unknown {
  const { head, text } = received
  const unexpected = (problem: string) => new ContractError(call, head, text, problem)
  const kind = Math.floor(head.status / 100)
  if (kind === 3)
    throw unexpected(head.location === null ? 'the status does not answer a request' : 'redirects are not followed')
  const { body, problem } = parseBody(received)
  if (problem) throw unexpected(problem)
  if (kind === 2 && (schema === null || isExact(schema, body))) return body
  const parsed = (kind === 2 && schema ? schema : ErrorBody).safeParse(body)
  if (parsed.success && kind === 2) return parsed.data
  if (parsed.success) throw new ApiError(call, head, parsed.data as ErrorBody)
  const path = parsed.error.issues[0]?.path.join('.') || 'whole body'
  throw unexpected(`the response is not of this service (${path})`)
}

function isExact(schema: z.ZodType, body: unknown): boolean {
  return (schema === ConsentPage && isExactPage(body)) || (schema === Consent && isExactConsent(body))
}

/** Parses JSON or a line of NDJSON; null if empty. */
function parseBody({ headers, text, rest }: Received): { body?: unknown; problem?: string } {
  if (text.trim() === '') return { body: null }
  const type = header(headers, 'content-type')
  if (!rest && type !== null && !/[/+]json\b/i.test(type)) return { problem: `the response is not JSON (${type})` }
  try {
    return { body: JSON.parse(text) }
  } catch {
    return { problem: 'the response is not JSON' }
  }
}
