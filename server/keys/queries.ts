import type { Sql } from 'postgres'
import type { Scope } from '../../src/contract/index.ts'

export interface ApiKeyRow {
  id: string
  name: string
  hint: string | null
  scopes: Scope[]
  created_at: Date
  expires_at: Date | null
  last_used_on: string | null
  revoked_at: Date | null
}

export function listKeys(sql: Sql, accountId: string): Promise<ApiKeyRow[]> {
  return sql<ApiKeyRow[]>`
    select ${columns(sql)} from api_keys where account_id = ${accountId} order by id desc`
}

export async function insertKey(
  sql: Sql,
  accountId: string,
  key: {
    readonly id: string
    readonly name: string
    readonly keyHash: Buffer
    readonly hint: string
    readonly scopes: readonly Scope[]
    readonly createdAt: Date
    readonly expiresAt: Date | null
  },
): Promise<ApiKeyRow | undefined> {
  const [row] = await sql<ApiKeyRow[]>`
    insert into api_keys (account_id, id, name, key_hash, hint, scopes, created_at, expires_at)
    values (${accountId}, ${key.id}, ${key.name}, ${key.keyHash}, ${key.hint}, ${sql.json([...key.scopes])},
      ${key.createdAt}, ${key.expiresAt})
    returning ${columns(sql)}`
  return row
}

/** Returns undefined if the account has no such key, or it is revoked. */
export async function revokeKey(
  sql: Sql,
  { accountId, id, at }: { readonly accountId: string; readonly id: string; readonly at: Date },
): Promise<ApiKeyRow | undefined> {
  const [row] = await sql<ApiKeyRow[]>`
    update api_keys set revoked_at = ${at} where account_id = ${accountId} and id = ${id} and revoked_at is null
    returning ${columns(sql)}`
  return row
}

function columns(sql: Sql) {
  return sql`id, name, hint, scopes, created_at, expires_at, last_used_on, revoked_at`
}
