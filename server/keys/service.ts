import type { Sql } from 'postgres'
import {
  type ApiKey,
  defaultScopes,
  type KeyDraft,
  type NewApiKey,
  parseInstant,
  scopes,
} from '../../src/contract/index.ts'
import { administrator } from '../audit/entries.ts'
import type { Caller } from '../auth/caller.ts'
import { hashOf, hintOf, newApiKey } from '../auth/credential.ts'
import type { KeyRow } from '../auth/queries.ts'
import type { Cache } from '../cache.ts'
import { toJson } from '../db/rows.ts'
import { Failure, noSite } from '../failure.ts'
import { newId, readInstant } from '../ids.ts'
import { insertKey, listKeys, revokeKey as revoke } from './queries.ts'

export interface KeyDeps {
  readonly sql: Sql
  readonly keys: Cache<KeyRow>
}

const lastInstant = Date.UTC(10_000, 0) - 1

export async function getKeys({ sql }: KeyDeps, { accountId }: Caller): Promise<{ data: ApiKey[] }> {
  return { data: (await listKeys(sql, accountId)).map(row => toJson<ApiKey>(row)) }
}

/** @throws Failure `invalid_request` for an expiry in the past or after the year 9999; `not_found` for a site */
export async function createKey(
  { sql }: KeyDeps,
  caller: Caller,
  { name, scopes: given = [...defaultScopes], site_ids: siteIds = null, expires_at }: KeyDraft,
): Promise<NewApiKey> {
  const expiresAt = expires_at === undefined ? null : new Date(parseInstant(expires_at) ?? 0)
  if (expiresAt && (expiresAt.getTime() <= Date.now() || expiresAt.getTime() > lastInstant)) {
    throw new Failure('invalid_request', 'expires_at: must be in the future, and before the year 10000')
  }
  const { accountId } = caller
  const [id, key] = [newId(), newApiKey(accountId)]
  const row = await insertKey(
    sql,
    accountId,
    {
      id,
      name,
      keyHash: hashOf(key),
      hint: hintOf(key),
      scopes: scopes.filter(scope => given.includes(scope)),
      siteIds,
      createdAt: readInstant(id),
      expiresAt,
    },
    administrator(caller),
  )
  if (!row && siteIds !== null) throw noSite()
  if (!row) throw new Failure('unauthorized', 'The user was removed.')
  return { ...toJson<ApiKey>(row), key }
}

/**
 * Takes effect immediately on this node, within a second on others.
 * @throws Failure `not_found`
 */
export async function revokeKey({ sql, keys }: KeyDeps, caller: Caller, id: string): Promise<ApiKey> {
  const row = await revoke(sql, { accountId: caller.accountId, id, at: new Date() }, administrator(caller))
  keys.clear()
  if (!row) throw new Failure('not_found', 'There is no such API key.')
  return toJson<ApiKey>(row)
}
