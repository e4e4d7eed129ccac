import { hash } from 'node:crypto'
import type { Sql } from 'postgres'
import { sha256 } from '../../src/evidence/bytes.ts'
import { canonical } from '../../src/evidence/canonical.ts'
import { Failure } from '../failure.ts'
import { findOldestKey, forgetKeys } from './queries.ts'
import type { Claim, Creation, FirstAnswer } from './rows.ts'

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

/** Throws `invalid_request` for the Idempotency-Key of a whole batch: whoever sends it believes that it may be sent again. */
export function refuseIdempotencyKey(header: (name: string) => string | undefined): void {
  if (header('idempotency-key') === undefined) return
  throw new Failure(
    'invalid_request',
    'Idempotency-Key: must not be given with a batch, each row of which may have its own idempotency_key',
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
export function claimOf(key: string, draft: object): Claim {
  return { key: hashKey(key), bodyHash: hashBody(draft) }
}

/** The first answer again, where a claim comes with its body; `conflict` elsewhere, and where its record was purged. */
export function replayOf({ shown, body_hash: bodyHash }: FirstAnswer, claim: Claim): Creation | Failure {
  if (bodyHash.length === 0) return conflict('The record of this Idempotency-Key was erased.')
  if (!bodyHash.equals(claim.bodyHash)) return conflict('The Idempotency-Key was used with another body.')
  return { shown, isReplayed: true }
}

function conflict(message: string): Failure {
  return new Failure('conflict', message)
}

/** What is kept of a key, which may be anything: that of a purged record must not tell of a person. */
export function hashKey(key: string): string {
  return hash('sha256', key)
}

/** What tells one body from another, however it was written. */
export function hashBody(body: object): Buffer {
  return sha256(canonical(body))
}
