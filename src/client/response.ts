import type * as z from 'zod'
import { ConsentPage } from '../contract/consents.ts'
import { ErrorBody } from '../contract/errors.ts'
import type { Endpoint } from '../contract/index.ts'
import { ApiError, type Call, ContractError } from './errors.ts'
import { isOwnPage } from './exact-page.ts'
import { header, type Received } from './http.ts'
import type { PageResponse } from './pages.ts'
import type { Input } from './request.ts'

/**
 * Reads a response as the endpoint's schema has it, or as the caller wants it.
 *
 * @throws ApiError for an error of the service.
 * @throws ContractError for anything that is not of the service.
 */
export function readResponse(endpoint: Endpoint, call: Call, received: Received, as?: Input['as']): unknown {
  if (as === 'pages') return readPages(call, received)
  const body = readBody(call, received, as === 'text' ? null : endpoint.response)
  return as === 'text' ? received.text : body
}

function readPages(call: Call, received: Received): PageResponse {
  const { rest } = received
  const read = (text: string) => readBody(call, { ...received, text }, ConsentPage) as ConsentPage
  async function* pages(lines: AsyncGenerator<string>) {
    for await (const line of lines) yield read(line)
  }
  return { first: read(received.text), rest: rest && pages(rest) }
}

/** Reads the body of a success by a schema, or as any JSON if there is none. */
function readBody(call: Call, { head, headers, text, rest }: Received, schema: z.ZodType | null): unknown {
  const { status } = head
  const refuse = (problem: string) => new ContractError(call, head, text, problem)
  const isSuccess = status >= 200 && status < 300
  if (status >= 300 && status < 400)
    throw refuse(
      head.location === null ? 'the status does not answer a request' : 'redirects are not followed',
    )
  const isEmpty = text.trim() === ''
  const type = header(headers, 'content-type')
  if (!isEmpty && !rest && type !== null && !/[/+]json\b/i.test(type))
    throw refuse(`the response is not JSON (${type})`)
  const body = isEmpty ? null : parseJson(text)
  if (body === undefined) throw refuse('the response is not JSON')
  if (isSuccess && (schema === null || (schema === ConsentPage && isOwnPage(body)))) return body
  const parsed = (isSuccess && schema ? schema : ErrorBody).safeParse(body)
  if (parsed.success && isSuccess) return parsed.data
  if (parsed.success) throw new ApiError(call, head, parsed.data as ErrorBody)
  const path = parsed.error.issues[0]?.path.join('.') || 'whole body'
  throw refuse(`the response is not of this service (${path})`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
