import { hash } from 'node:crypto'
import type { Sql } from 'postgres'
import { sha256 } from '../../src/evidence/bytes.ts'
import { canonical } from '../../src/evidence/canonical.ts'
import { Failure } from '../failure.ts'
import { deleteKeys, findOldestKey } from './queries.ts'
import type { Claim, Created, FirstAnswer } from './rows.ts'

export const keyLifetimeMs = 24 * 60 * 60 * 1000

type ReadHeader = (name: string) => string | undefined

/** @throws Failure `invalid_request` unless the header is 1 to 255 printable ASCII characters */
export function readIdempotencyKey(header: ReadHeader): string | null {
  const key = header('idempotency-key')
  if (key === undefined) return null
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key
  throw new Failure('invalid_request', 'Idempotency-Key: must be 1 to 255 printable ASCII characters, given once')
}

/** @throws Failure `invalid_request` for a batch, whose sender would assume that retries are safe */
export function rejectIdempotencyKey(header: ReadHeader): void {
  if (header('idempotency-key') === undefined) return
  throw new Failure(
    'invalid_request',
    'Idempotency-Key: must not be sent with a batch: give each row an idempotency_key instead',
  )
}

const sliceMs = 60_000

export async function deleteExpiredKeys(sql: Sql): Promise<null> {
  const before = Date.now() - keyLifetimeMs
  for (;;) {
    const oldest = await findOldestKey(sql, new Date(before))
    if (!oldest) return null
    await deleteKeys(sql, new Date(Math.min(before, oldest.getTime() + sliceMs)))
  }
}

export function claimKey(key: string, body: object): Claim {
  return { key: hashKey(key), bodyHash: sha256(canonical(body)) }
}

export function replay({ json, body_hash: bodyHash }: FirstAnswer, claim: Claim): Created | Failure {
  if (bodyHash.length === 0)
    return new Failure('conflict', 'The record of this Idempotency-Key was erased.', { reason: 'purged' })
  if (!bodyHash.equals(claim.bodyHash))
    return new Failure('conflict', 'The Idempotency-Key was used with another body.', {
      reason: 'idempotency_key_reused',
    })
  return { json, isReplayed: true }
}

/** A key may contain personal data, and outlives its record's purge. */
export function hashKey(key: string): string {
  return hash('sha256', key)
}
