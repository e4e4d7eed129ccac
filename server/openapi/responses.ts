import { type ErrorCode, errorStatus } from '../../src/contract/index.ts'
import { refTo } from './schemas.ts'

const quota = 'On answers to an API key whose account has a monthly quota'

/** The headers of answers. */
export const headers = {
  'X-Request-Id': {
    description: 'Names the request in the log of the service.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
    example: '7b6f3a4e-5d0c-4f7e-9a53-2f0d4f0b8f6e',
  },
  'X-Quota-Limit': {
    description: `${quota}: requests a calendar month in UTC.`,
    schema: { type: 'integer', minimum: 0 },
    example: 10000,
  },
  'X-Quota-Remaining': {
    description: `${quota}: how many are left after this one.`,
    schema: { type: 'integer', minimum: 0 },
    example: 8766,
  },
  'X-Quota-Reset': {
    description: `${quota}: when the next month begins, in seconds since 1970.`,
    schema: { type: 'integer', minimum: 0 },
    example: 1796083200,
  },
  'Retry-After': {
    description: 'After how many seconds to try again.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  'WWW-Authenticate': {
    description: 'The scheme of the credential that is missing.',
    required: true,
    schema: { type: 'string', const: 'Bearer' },
    example: 'Bearer',
  },
  Vary: {
    description: 'The request headers that the form of the answer depends on.',
    schema: { type: 'string', const: 'Accept' },
    example: 'Accept',
  },
  Allow: {
    description: 'The methods that the path has.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Z]+(, [A-Z]+)*$' },
    example: 'GET, POST',
  },
  'Set-Cookie': {
    description:
      'The session: `__Host-consent_session`, or `consent_session` where the service is on localhost without TLS.',
    required: true,
    schema: { type: 'string', pattern: '^(__Host-)?consent_session=' },
    example:
      '__Host-consent_session=eyJhbGciOiJIUzI1NiJ9.EXAMPLE; Max-Age=28800; Path=/; HttpOnly; Secure; SameSite=Lax',
  },
  'Idempotent-Replayed': {
    description: 'The Idempotency-Key was used before: this is the first answer again, and nothing was made.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
  'Preference-Applied': {
    description: 'Of the records there are the ids alone, as it was preferred (RFC 7240 section 3).',
    schema: { type: 'string', const: 'return=minimal' },
    example: 'return=minimal',
  },
} as const

export type HeaderName = keyof typeof headers

/** On whatever is answered after the quota was looked at. */
export const quotaHeaders = ['X-Quota-Limit', 'X-Quota-Remaining', 'X-Quota-Reset'] as const

/** The headers of one answer; every answer has the request's id. */
export function describeHeaders(names: readonly HeaderName[]): Record<string, { $ref: string }> {
  return Object.fromEntries(['X-Request-Id', ...names].map(name => [name, refTo('headers', name)]))
}

/** An answer that is no success. */
export interface Refusal {
  readonly code: ErrorCode
  /** Where it is not the code's own. */
  readonly status?: number
  readonly description: string
  /** An example of its message. */
  readonly message: string
  readonly headers: readonly HeaderName[]
}

/** Every one that there is, by the name of its component. */
export const refusals = {
  BadRequest: {
    code: 'invalid_request',
    description: 'Not as described: the message names the field. Also for what is hardly HTTP.',
    message: 'accepted: must be true or false',
    headers: quotaHeaders,
  },
  Unauthorized: {
    code: 'unauthorized',
    description:
      'The credential is missing, malformed, unknown, revoked or expired: which of these is not told.',
    message: 'A valid API key or session is required.',
    headers: ['WWW-Authenticate'],
  },
  Forbidden: {
    code: 'forbidden',
    description:
      'The credential does not allow it: the scope of a key, or the origin of the page that sent it.',
    message: 'The API key lacks the scope write.',
    headers: quotaHeaders,
  },
  NotFound: {
    code: 'not_found',
    description:
      'Nothing by that id; what belongs to another account, and an id that is no UUID, are answered alike.',
    message: 'There is no such consent.',
    headers: quotaHeaders,
  },
  MethodNotAllowed: {
    code: 'invalid_request',
    status: 405,
    description: 'The path does not have this method.',
    message: 'The method is not one of GET, POST.',
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
      'The Idempotency-Key was used with another body, or the record that it made was erased and purged since: it is not made again. Of a receipt: the record has too many events for one.',
    message: 'The Idempotency-Key was used with another body.',
    headers: quotaHeaders,
  },
  PayloadTooLarge: {
    code: 'payload_too_large',
    description: 'The body is larger than 128 KiB; of a banner, than 16 KiB; of a batch, than 1 MiB.',
    message: 'The body is too large.',
    headers: quotaHeaders,
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
    description: 'The body is not called application/json.',
    message: 'The body must be application/json.',
    headers: quotaHeaders,
  },
  QuotaExceeded: {
    code: 'quota_exceeded',
    description:
      'The monthly quota of the account is used up: nothing was done, and nothing will be until it resets.',
    message: 'The monthly quota of this account is used up.',
    headers: [...quotaHeaders, 'Retry-After'],
  },
  RateLimited: {
    code: 'rate_limited',
    description: 'Too many requests in a short time: nothing was done.',
    message: 'Too many requests.',
    headers: ['Retry-After'],
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
    description: 'The service failed. No unit of the quota is taken.',
    message: 'The service failed to answer; the request id helps to find out why.',
    headers: quotaHeaders,
  },
  Unavailable: {
    code: 'unavailable',
    description: 'The database does not answer, or there is too much to do. No unit of the quota is taken.',
    message: 'The database does not answer at the moment.',
    headers: [...quotaHeaders, 'Retry-After'],
  },
} as const satisfies Record<string, Refusal>

export type RefusalName = keyof typeof refusals

export function statusOf({ code, status }: Refusal): number {
  return status ?? errorStatus[code]
}

/** The first refusal that has a code and its status. */
export function nameOf(code: ErrorCode): RefusalName {
  const names = Object.keys(refusals) as RefusalName[]
  const name = names.find(one => refusals[one].code === code)
  if (!name) throw new Error(`${code} is not described`)
  return name
}
