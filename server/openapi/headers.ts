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
