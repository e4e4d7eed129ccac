import type * as z from 'zod'
import { ConsentPage } from '../contract/consents.ts'
import { ErrorBody } from '../contract/errors.ts'
import type { Endpoint } from '../contract/index.ts'
import { isOwnPage } from '../contract/own-page.ts'
import { ApiError, type Call, ContractError } from './errors.ts'
import { header, type Received } from './http.ts'

/** What an answer says: the endpoint's response. Throws an ApiError, or a ContractError for what is not of the service. */
export function read(endpoint: Endpoint, call: Call, received: Received): unknown {
  return bodyOf(call, received, endpoint.response)
}

/** The text of a success that is JSON of any kind; whoever asks for it looks whether it is what it should be. */
export function readText(_: Endpoint, call: Call, received: Received): string {
  bodyOf(call, received, null)
  return received.text
}

/** The body of a success, as its schema has it where there is one. */
function bodyOf(call: Call, { reply, headers, text }: Received, schema: z.ZodType | null): unknown {
  const { status } = reply
  const refuse = (problem: string) => new ContractError(call, reply, text, problem)
  const isSuccess = status >= 200 && status < 300
  if (status >= 300 && status < 400) {
    throw refuse(reply.location === null ? 'that is no answer to a request' : 'redirects are not followed')
  }
  const isEmpty = text.trim() === ''
  const type = header(headers, 'content-type')
  if (!isEmpty && type !== null && !/[/+]json\b/i.test(type)) {
    throw refuse(`the answer is not JSON (${type})`)
  }
  const body = isEmpty ? null : parseJson(text)
  if (body === undefined) throw refuse('the answer is not JSON')
  if (isSuccess && (schema === null || (schema === ConsentPage && isOwnPage(body)))) return body
  const parsed = (isSuccess && schema ? schema : ErrorBody).safeParse(body)
  if (parsed.success && isSuccess) return parsed.data
  if (parsed.success) throw new ApiError(call, reply, parsed.data as ErrorBody)
  const place = parsed.error.issues[0]?.path.join('.') || 'whole body'
  throw refuse(`the answer is not of this service (${place})`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
