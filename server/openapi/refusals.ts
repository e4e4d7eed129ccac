import { type ErrorCode, errorStatus } from '../../src/contract/index.ts'
import { type HeaderName, quotaHeaders } from './headers.ts'

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
