import type * as z from 'zod'
import type { ConsentPage, ErrorBody, Route } from '../contract/index.ts'
import { ApiError, type Call, ContractError } from './errors.ts'
import { header, type Received } from './http.ts'
import type { PageResponse } from './pages.ts'
import type { Input, Target } from './request.ts'

/** @throws ApiError; ContractError for a response that is not this service's */
export async function readResponse(target: Target, call: Call, received: Received, as?: Input['as']): Promise<unknown> {
  if (as === 'pages') return await readPages(target, call, received)
  if (as === 'bytes' && received.bytes) return readBytes(target, call, { ...received, bytes: received.bytes })
  const body = await readBody(as === 'text' ? null : target, call, received)
  return as === 'text' ? received.text : body
}

export async function responseSchema({ response }: Target): Promise<z.ZodType> {
  return typeof response === 'function' ? await response() : response
}

/** @throws ContractError for another media type, such as a proxy's page */
function readBytes({ media = [] }: Route, call: Call, { head, headers, bytes }: Received & { bytes: Buffer }): Buffer {
  const type =
    header(headers, 'content-type')
      ?.replace(/\s*;.*$/s, '')
      .toLowerCase() ?? ''
  if (media.includes(type)) return bytes
  throw new ContractError(call, head, '', `the response is not ${media.join(' or ')} (${type || 'no type'})`)
}

async function readPages(target: Target, call: Call, received: Received): Promise<PageResponse> {
  const { rest } = received
  const read = async (text: string) => (await readBody(target, call, { ...received, text })) as ConsentPage
  async function* pages(lines: AsyncGenerator<string>) {
    for await (const line of lines) yield await read(line)
  }
  return { first: await read(received.text), rest: rest && pages(rest) }
}

async function readBody(target: Target | null, call: Call, received: Received): Promise<unknown> {
  const { head, text } = received
  const unexpected = (problem: string) => new ContractError(call, head, text, problem)
  const kind = Math.floor(head.status / 100)
  if (kind === 3)
    throw unexpected(
      head.location === null ? 'the status is not a response to a request' : 'redirects are not followed',
    )
  const { body, problem } = parseBody(received)
  if (problem) throw unexpected(problem)
  if (kind === 2 && (target === null || target.isExact?.(body))) return body
  const schema = kind === 2 && target ? await responseSchema(target) : (await import('../contract/errors.ts')).ErrorBody
  const parsed = schema.safeParse(body)
  if (parsed.success && kind === 2) return parsed.data
  if (parsed.success) throw new ApiError(call, head, parsed.data as ErrorBody)
  const path = parsed.error.issues[0]?.path.join('.') || 'whole body'
  throw unexpected(`the response is not from this service (${path})`)
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
