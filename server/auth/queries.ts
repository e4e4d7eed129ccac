import type { Sql } from 'postgres'
import type { Role, Scope } from '../../src/contract/index.ts'

export interface KeyRow {
  account_id: string
  id: string
  scopes: Scope[]
  /** Null for every site. */
  site_ids: string[] | null
  expires_at: Date | null
  /** In UTC, `2026-11-20`. */
  last_used_on: string | null
}

/** Returns undefined for revoked keys too. */
export async function findKey(
  sql: Sql,
  { accountId, keyHash }: { readonly accountId: string; readonly keyHash: Buffer },
): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select account_id, id, scopes, site_ids, expires_at, last_used_on from api_keys
    where account_id = ${accountId} and key_hash = ${keyHash} and revoked_at is null`
  return row
}

export async function recordKeyUse(
  sql: Sql,
  { accountId, id, day }: { accountId: string; id: string; day: string },
): Promise<void> {
  await sql`
    update api_keys set last_used_on = ${day}::date
    where account_id = ${accountId} and id = ${id} and (last_used_on is null or last_used_on < ${day}::date)`
}

export interface SessionUserRow {
  session_version: number
  role: Role
}

export async function findSessionUser(
  sql: Sql,
  { accountId, userId }: { readonly accountId: string; readonly userId: string },
): Promise<SessionUserRow | undefined> {
  const [row] = await sql<SessionUserRow[]>`
    select session_version, role from users where account_id = ${accountId} and id = ${userId}`
  return row
}
