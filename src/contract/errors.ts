import * as z from 'zod'

/** Service specification section 7; RFC 9110. */
export const errorStatus = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  payload_too_large: 413,
  quota_exceeded: 429,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
  read_only: 503,
} as const

export type ErrorCode = keyof typeof errorStatus

export const ErrorBody = z.object({
  error: z.string().meta({ enum: Object.keys(errorStatus) }),
  message: z.string(),
})

export type ErrorBody = z.output<typeof ErrorBody>
