import type { FastifyRequest } from 'fastify'
import type { Sql } from 'postgres'
import type { Role, Scope } from '../../src/contract/index.ts'
import type { Admission } from '../admission.ts'
import type { Cache } from '../cache.ts'
import type { Reach } from '../db/reach.ts'
import { Failure } from '../failure.ts'
import type { NodeState } from '../health/monitor.ts'
import { countHeader } from '../net/request.ts'
import { accountOfApiKey, hashOf } from './credential.ts'
import { findKey, findSessionUser, type KeyRow, recordKeyUse } from './queries.ts'
import { readSession, sessionToken } from './session.ts'

export interface Caller extends Reach {
  readonly kind: 'api_key' | 'user' | 'site_token'
  readonly id: string
  readonly role?: Role
  readonly sessionExpiresAt?: Date
}

export interface KeyCaller extends Caller {
  readonly kind: 'api_key'
  readonly scopes: readonly Scope[]
}

export interface AuthDeps {
  readonly sql: Sql
  readonly sessionSecret: Uint8Array
  readonly state: Pick<NodeState, 'now'>
  readonly keys: Cache<KeyRow>
  /** Anyone can make up well-formed keys. */
  readonly lookups: Admission
}

/**
 * Prefers the header to the cookie. @throws Failure `unauthorized`, identical for every reason (service specification
 * section 5)
 */
export async function findCaller(deps: AuthDeps, request: FastifyRequest): Promise<Caller | KeyCaller> {
  const { authorization } = request.headers
  if (countHeader(request.raw, 'authorization') > 1) throw unauthorized()
  const caller =
    authorization === undefined ? await findUser(deps, sessionToken(request)) : await findKeyCaller(deps, authorization)
  if (!caller) throw unauthorized()
  return caller
}

export function isKeyCaller(caller: Caller): caller is KeyCaller {
  return caller.kind === 'api_key'
}

export function findCachedCaller(deps: AuthDeps, request: FastifyRequest): KeyCaller | null {
  const { authorization } = request.headers
  if (authorization === undefined || countHeader(request.raw, 'authorization') > 1) return null
  const key = parseBearer(authorization)
  return key ? toCaller(deps, deps.keys.peek(key.hash.toString('base64'))) : null
}

async function findKeyCaller(deps: AuthDeps, authorization: string): Promise<KeyCaller | null> {
  const { sql, keys, lookups } = deps
  const key = parseBearer(authorization)
  if (!key) return null
  const row = await keys.get(key.hash.toString('base64'), async () => {
    const accountId = accountOfApiKey(key.text)
    if (!accountId) return undefined
    return await lookups.run('keys', () => findKey(sql, { accountId, keyHash: key.hash }))
  })
  return toCaller(deps, row)
}

function parseBearer(authorization: string): { text: string; hash: Buffer } | null {
  const text = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  return text ? { text, hash: hashOf(text) } : null
}

function toCaller({ sql, state }: AuthDeps, row: KeyRow | undefined): KeyCaller | null {
  const now = state.now()
  if (!row || (row.expires_at && row.expires_at <= now)) return null
  const { account_id: accountId, id, scopes, site_ids: siteIds } = row
  const day = now.toISOString().slice(0, 10)
  if (row.last_used_on !== day) {
    row.last_used_on = day
    recordKeyUse(sql, { accountId, id, day }).catch(() => {})
  }
  return { accountId, siteIds, kind: 'api_key', id, scopes }
}

async function findUser({ sql, sessionSecret, state }: AuthDeps, token: string | null): Promise<Caller | null> {
  const claims = token === null ? null : await readSession(sessionSecret, token, state.now())
  if (!claims) return null
  const { accountId, userId, version, expiresAt } = claims
  const user = await findSessionUser(sql, { accountId, userId })
  if (user?.session_version !== version) return null
  return { accountId, siteIds: null, kind: 'user', id: userId, role: user.role, sessionExpiresAt: expiresAt }
}

export function unauthorized(message = 'A valid API key or session is required.'): Failure {
  return new Failure('unauthorized', message, { headers: { 'www-authenticate': 'Bearer' } })
}
