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

/** Reasons that a caller handles differently from others of the same code. */
export const errorReasons = {
  forbidden: [
    'missing_scope',
    'site_restricted',
    'session_required',
    'missing_role',
    'foreign_origin',
    'https_required',
  ],
  conflict: [
    'name_taken',
    'idempotency_key_reused',
    'origin_differs',
    'purged',
    'erasure_requested',
    'already_published',
    'concurrent_change',
    'notice_valid_longer',
    'held',
  ],
} as const satisfies Partial<Record<ErrorCode, readonly string[]>>

type WithReasons = keyof typeof errorReasons

export type ErrorReason<Code extends ErrorCode = ErrorCode> = Code extends WithReasons
  ? (typeof errorReasons)[Code][number]
  : never

export const ErrorBody = z.object({
  error: z.string().meta({ enum: Object.keys(errorStatus) }),
  message: z.string(),
  reason: z
    .string()
    .meta({ enum: Object.values(errorReasons).flat() })
    .optional()
    .meta({ onRequest: true })
    .describe('Tells errors of one code apart, where a program should. More may be added.'),
})

export type ErrorBody = z.output<typeof ErrorBody>
