import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Sql } from 'postgres'
import { Failure } from '../failure.ts'
import { findOldestKey, forgetKeys } from './queries.ts'
import type { Claim } from './rows.ts'

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

/** Milliseconds of uses that are forgotten in one statement, so that none takes long. */
const slice = 60_000

/** Forgets the keys that no longer count. */
export async function sweepKeys(sql: Sql): Promise<null> {
  const before = Date.now() - validity
  for (;;) {
    const oldest = await findOldestKey(sql, new Date(before))
    if (!oldest) return null
    await forgetKeys(sql, new Date(Math.min(before, oldest.getTime() + slice)))
  }
}

/** What a request claims with a key; `draft` is its body. */
export function claimOf(key: string, draft: object, at: Date): Claim {
  return { key: hashKey(key), bodyHash: hashBody(draft), freeBefore: new Date(at.getTime() - validity) }
}

/** The first answer, where a claim comes with its body; throws `conflict` elsewhere, and where its record was purged. */
export function replayOf<First extends { readonly body_hash: Buffer }>(
  first: First,
  { bodyHash }: Pick<Claim, 'bodyHash'>,
): First {
  if (first.body_hash.length === 0) {
    throw new Failure('conflict', 'The record of this Idempotency-Key was erased.')
  }
  if (!first.body_hash.equals(bodyHash)) {
    throw new Failure('conflict', 'The Idempotency-Key was used with another body.')
  }
  return first
}

/** What is kept of a key, which may be anything: that of a purged record must not tell of a person. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** What tells one body from another, however it was written. */
export function hashBody(body: object): Buffer {
  return createHash('sha256')
    .update(canonicalize(body) ?? '')
    .digest()
}
