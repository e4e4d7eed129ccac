import type { Sql } from 'postgres'
import type { Scope } from '../../src/contract/index.ts'
import { type Administrator, afterAccount, auditEntry, lockedAccount, target } from '../audit/entries.ts'
import { keyState } from '../audit/states.ts'

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
  actor: Administrator,
): Promise<ApiKeyRow | undefined> {
  const { createdAt: at } = key
  const [row] = await sql<ApiKeyRow[]>`
    with ${lockedAccount(sql, accountId)}, inserted as (
      insert into api_keys (account_id, id, name, key_hash, hint, scopes, created_at, expires_at)
      select account_id, ${key.id}::uuid, ${key.name}, ${key.keyHash}::bytea, ${key.hint},
        ${sql.json([...key.scopes])}::jsonb, ${at}::timestamptz, ${key.expiresAt}::timestamptz
      from account where account_id = ${accountId}
      returning *
    ), change as (
      select ${target(sql, 'api_key', sql`k.id`)} as target, null::jsonb as before, ${keyState(sql)} as after
      from inserted k
    ), ${auditEntry(sql, { accountId, actor, action: 'key_created', at })}
    select ${columns(sql)} from inserted`
  return row
}

/** Returns undefined if the account has no such key, or it is revoked. */
export async function revokeKey(
  sql: Sql,
  { accountId, id, at }: { readonly accountId: string; readonly id: string; readonly at: Date },
  actor: Administrator,
): Promise<ApiKeyRow | undefined> {
  const [row] = await sql<ApiKeyRow[]>`
    with ${lockedAccount(sql, accountId)}, present as materialized (
      select * from api_keys
      where account_id = ${accountId} and id = ${id} and revoked_at is null and ${afterAccount(sql)} for no key update
    ), changed as (
      update api_keys k set revoked_at = ${at} from present p
      where k.account_id = ${accountId} and k.id = ${id} and p.id = k.id
      returning k.*
    ), change as (
      select ${target(sql, 'api_key', sql`k.id`)} as target, (select ${keyState(sql)} from present k) as before,
        ${keyState(sql)} as after
      from changed k
    ), ${auditEntry(sql, { accountId, actor, action: 'key_revoked', at })}
    select ${columns(sql)} from changed`
  return row
}

function columns(sql: Sql) {
  return sql`id, name, hint, scopes, created_at, expires_at, last_used_on, revoked_at`
}
