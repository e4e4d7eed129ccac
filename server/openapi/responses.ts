import { type ErrorCode, errorReasons, errorStatus, type HeaderDocs } from '../../src/contract/index.ts'
import { type JsonSchema, refTo } from './schemas.ts'

const keyResponses = 'On responses to an API key whose account has a monthly quota'

export const commonHeaders = {
  'X-Request-Id': {
    description: 'Names the request in the log of the service.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
    example: '7b6f3a4e-5d0c-4f7e-9a53-2f0d4f0b8f6e',
  },
  'X-Quota-Limit': {
    description: `${keyResponses}: requests a calendar month in UTC.`,
    schema: { type: 'integer', minimum: 0 },
    example: 10000,
  },
  'X-Quota-Remaining': {
    description: `${keyResponses}: requests left after this one.`,
    schema: { type: 'integer', minimum: 0 },
    example: 8766,
  },
  'X-Quota-Reset': {
    description: `${keyResponses}: when the next month begins, in seconds since 1970.`,
    schema: { type: 'integer', minimum: 0 },
    example: 1796083200,
  },
  'Retry-After': {
    description: 'After how many seconds to retry.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  'Request-Not-Applied': {
    description: 'The request changed nothing, so that it can be sent again. Without it, it may have been carried out.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
  'WWW-Authenticate': {
    description: 'The scheme of the missing credential.',
    required: true,
    schema: { type: 'string', const: 'Bearer' },
    example: 'Bearer',
  },
  Vary: {
    description:
      'The request header that the response depends on: `Accept` if the endpoint can stream, `Origin` in the public flow, `Accept-Encoding` of this document.',
    schema: { type: 'string', enum: ['Accept', 'Origin', 'Accept-Encoding'] },
    example: 'Accept',
  },
  Allow: {
    description: 'The methods of the path.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Z]+(, [A-Z]+)*$' },
    example: 'GET, POST',
  },
} as const satisfies Record<string, HeaderDocs>

type CommonHeader = keyof typeof commonHeaders

export const quotaHeaders = ['X-Quota-Limit', 'X-Quota-Remaining', 'X-Quota-Reset'] as const

export function describeHeaders(names: readonly string[]): Record<string, { $ref: string }> {
  return Object.fromEntries(['X-Request-Id', ...names].map(name => [name, refTo('headers', name)]))
}

interface ErrorResponse {
  readonly code: ErrorCode
  readonly alternatives?: readonly ErrorCode[]
  readonly status?: number
  readonly description: string
  readonly message: string
  readonly headers: readonly CommonHeader[]
}

export const errorResponses = {
  BadRequest: {
    code: 'invalid_request',
    description: 'The request is not as described: the message names the field. Also for malformed HTTP.',
    message: 'accepted: must be true or false',
    headers: [...quotaHeaders, 'Vary'],
  },
  Unauthorized: {
    code: 'unauthorized',
    description: 'The credential is missing, malformed, unknown, revoked or expired. The response does not say which.',
    message: 'A valid API key or session is required.',
    headers: ['WWW-Authenticate', 'Vary'],
  },
  Forbidden: {
    code: 'forbidden',
    description:
      'The credential does not allow it: because of the scope of a key, or the origin of the page that sent it.',
    message: 'The API key lacks the scope write.',
    headers: [...quotaHeaders, 'Vary'],
  },
  NotFound: {
    code: 'not_found',
    description: 'Nothing has this id. An id of another account and an id that is not a UUID get the same response.',
    message: 'There is no such consent.',
    headers: [...quotaHeaders, 'Vary'],
  },
  MethodNotAllowed: {
    code: 'invalid_request',
    status: 405,
    description: 'The path does not have this method.',
    message: 'The method must be one of GET, POST.',
    headers: ['Allow'],
  },
  RequestTimeout: {
    code: 'invalid_request',
    status: 408,
    description: 'The request did not arrive within 30 seconds.',
    message: 'The request did not arrive in time.',
    headers: [],
  },
  Conflict: {
    code: 'conflict',
    description:
      'The Idempotency-Key was used with another body, or the record that it created was erased and purged since: it is not created again; or another request made or changed the same at the same time. For a receipt: the record has too many events. For evidence: it does not verify. For a notice: it is published, or was changed at the same time.',
    message: 'The Idempotency-Key was used with another body.',
    headers: [...quotaHeaders, 'Vary'],
  },
  PayloadTooLarge: {
    code: 'payload_too_large',
    description: 'The body is larger than 128 KiB (from a banner 16 KiB, of a batch or a text of a notice 1 MiB).',
    message: 'The body is too large.',
    headers: [...quotaHeaders, 'Vary'],
  },
  UriTooLong: {
    code: 'invalid_request',
    status: 414,
    description: 'The URL is too long.',
    message: 'The URL is too long.',
    headers: [],
  },
  UnsupportedMediaType: {
    code: 'invalid_request',
    status: 415,
    description: 'The content type is not application/json, or for a text of a notice none of its media types.',
    message: 'The body must be application/json.',
    headers: [...quotaHeaders, 'Vary'],
  },
  QuotaExceeded: {
    code: 'quota_exceeded',
    description: 'The monthly quota of the account is used up: nothing was done.',
    message: 'The monthly quota of this account is used up.',
    headers: [...quotaHeaders, 'Retry-After'],
  },
  RateLimited: {
    code: 'rate_limited',
    description: 'Too many requests in a short time: nothing was done.',
    message: 'Too many requests.',
    headers: ['Retry-After', 'Vary'],
  },
  HeadersTooLarge: {
    code: 'invalid_request',
    status: 431,
    description: 'The headers are too large.',
    message: 'The headers are too large.',
    headers: [],
  },
  InternalError: {
    code: 'internal_error',
    description: 'The service failed. It takes no unit of the quota.',
    message: 'The service failed; look up the request id in its log to find out why.',
    headers: [...quotaHeaders, 'Request-Not-Applied', 'Vary'],
  },
  Unavailable: {
    code: 'unavailable',
    alternatives: ['read_only'],
    description:
      'The database does not respond, or there are too many requests. With `read_only`: the service is read-only at the moment, because its database accepts no writes, or because its clock is wrong; the message says which. It takes no unit of the quota.',
    message: 'The database is not responding at the moment.',
    headers: [...quotaHeaders, 'Retry-After', 'Request-Not-Applied', 'Vary'],
  },
} as const satisfies Record<string, ErrorResponse>

export type ErrorResponseName = keyof typeof errorResponses

export function statusOf({ code, status }: ErrorResponse): number {
  return status ?? errorStatus[code]
}

export function codesOf({ code, alternatives = [] }: ErrorResponse): ErrorCode[] {
  return [code, ...alternatives]
}

export function findErrorResponse(code: ErrorCode): ErrorResponseName {
  const names = Object.keys(errorResponses) as ErrorResponseName[]
  const name = names.find(one => errorResponses[one].code === code)
  if (!name) throw new Error(`${code} is not described`)
  return name
}

function describeReasons(code: ErrorCode): { reason?: { enum: string[] } } {
  return code in errorReasons ? { reason: { enum: [...errorReasons[code as keyof typeof errorReasons]] } } : {}
}

export function describeErrorResponses(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(errorResponses).map(([name, response]) => {
      const { code, description, message, headers } = response
      const properties = { error: { enum: codesOf(response) }, ...describeReasons(code) }
      const schema: JsonSchema = { ...refTo('schemas', 'ErrorBody'), properties }
      const content = { 'application/json': { schema, example: { error: code, message } } }
      return [name, { description, headers: describeHeaders(headers), content }]
    }),
  )
}
