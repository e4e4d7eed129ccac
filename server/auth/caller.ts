import type { Sql } from 'postgres'
import { Failure } from '../failure.ts'
import { accountOfApiKey, hashOf } from './credential.ts'
import { findKey, findKeyAndSpend } from './queries.ts'
import { monthOf, quotaHeaders, resetOf } from './quota.ts'

/** Who sent a request. */
export interface Caller {
  readonly accountId: string
  /** As the audit trail names it. */
  readonly kind: 'api_key' | 'user' | 'site_token'
  /** The id of that key, user or site. */
  readonly id: string
}

export interface Admission {
  readonly caller: Caller
  /** Headers for the answer, whatever it is. */
  readonly headers: Record<string, string>
  /** The month a unit of the quota was spent in; null where none was. */
  readonly month: string | null
}

/**
 * Finds the caller by the Authorization header and spends a unit of its quota, in one round trip. Throws
 * `unauthorized` alike for a missing, malformed, unknown, revoked and expired key, and `quota_exceeded` (service
 * specification sections 5 and 8).
 */
export async function admit(
  sql: Sql,
  authorization: string | undefined,
  counted: boolean,
): Promise<Admission> {
  const key = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  const accountId = key && accountOfApiKey(key)
  if (!key || !accountId) throw unauthorized()
  const now = new Date()
  const lookup = { accountId, keyHash: hashOf(key), now }
  if (!counted) {
    const found = await findKey(sql, lookup)
    if (!found) throw unauthorized()
    return { caller: { accountId, kind: 'api_key', id: found.id }, headers: {}, month: null }
  }
  const month = monthOf(now)
  const found = await findKeyAndSpend(sql, { ...lookup, month })
  if (!found) throw unauthorized()
  const headers = quotaHeaders(found.monthly_quota, found.used ?? found.monthly_quota ?? 0, now)
  if (found.used === null) throw quotaExceeded(headers, now)
  return { caller: { accountId, kind: 'api_key', id: found.id }, headers, month }
}

function unauthorized(): Failure {
  return new Failure('unauthorized', 'A valid API key is required.', {
    headers: { 'www-authenticate': 'Bearer' },
  })
}

function quotaExceeded(headers: Record<string, string>, now: Date): Failure {
  const seconds = Math.ceil(resetOf(now) - now.getTime() / 1000)
  return new Failure('quota_exceeded', 'The monthly quota of this account is used up.', {
    headers: { ...headers, 'retry-after': String(seconds) },
  })
}
