import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { Failure } from '../failure.ts'

/** How long a key is kept, in milliseconds. */
export const validity = 24 * 60 * 60 * 1000

/** The Idempotency-Key of a request, or null. Throws `invalid_request` for one that is no printable ASCII text. */
export function readIdempotencyKey(header: (name: string) => string | undefined): string | null {
  const key = header('idempotency-key')
  if (key === undefined) return null
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key
  throw new Failure(
    'invalid_request',
    'Idempotency-Key: must be 1 to 255 printable ASCII characters, given once',
  )
}

/** What tells one body from another, however it was written. */
export function hashBody(body: object): Buffer {
  return createHash('sha256')
    .update(canonicalize(body) ?? '')
    .digest()
}
