import type { Fragment, Sql } from 'postgres'
import type { ApiKey, Scope } from '../../src/contract/index.ts'
import { type Administrator, afterAccount, auditEntry, lockedAccount, target } from '../audit/entries.ts'
import { keyState } from '../audit/states.ts'
import { empty, toArrayLiteral } from '../db/fragments.ts'
import type { Row } from '../db/rows.ts'

/** `created_by` is a user's e-mail, or the id of a removed user. */
export type ApiKeyRow = Row<ApiKey>

export function listKeys(sql: Sql, accountId: string): Promise<ApiKeyRow[]> {
  return sql<ApiKeyRow[]>`
    select ${columns(sql)} from api_keys k ${withMaker(sql)} where k.account_id = ${accountId} order by k.id desc`
}

/** Inserts nothing if the acting user was removed, or if the account lacks one of the sites. */
export async function insertKey(
  sql: Sql,
  accountId: string,
  key: {
    readonly id: string
    readonly name: string
    readonly keyHash: Buffer
    readonly hint: string
    readonly scopes: readonly Scope[]
    readonly siteIds: readonly string[] | null
    readonly createdAt: Date
    readonly expiresAt: Date | null
  },
  actor: Administrator,
): Promise<ApiKeyRow | undefined> {
  const { createdAt: at, siteIds } = key
  const userId = actor.kind === 'user' ? actor.id : null
  const [row] = await sql<ApiKeyRow[]>`
    with ${lockedAccount(sql, accountId)}, maker as materialized (
      select id from users where account_id = ${accountId} and id = ${userId} and ${afterAccount(sql)} for key share
    ), inserted as (
      insert into api_keys (account_id, id, name, key_hash, hint, scopes, site_ids, created_by, created_at,
        expires_at)
      select account_id, ${key.id}::uuid, ${key.name}, ${key.keyHash}::bytea, ${key.hint},
        ${sql.json([...key.scopes])}::jsonb, ${siteIds && sql.json([...siteIds])}::jsonb, ${userId}::uuid, ${at}::timestamptz, ${key.expiresAt}::timestamptz
      from account where account_id = ${accountId} and (${userId}::uuid is null or exists (select 1 from maker))
        ${siteIds === null ? empty(sql) : sql`and ${siteIds.length} = (${countSites(sql, accountId, siteIds)})`}
      returning *
    ), change as (
      select ${target(sql, 'api_key', sql`k.id`)} as target, null::jsonb as before, ${keyState(sql)} as after
      from inserted k
    ), ${auditEntry(sql, { accountId, actor, action: 'key_created', at })}
    select ${columns(sql)} from inserted k ${withMaker(sql)}`
  return row
}

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
    select ${columns(sql)} from changed k ${withMaker(sql)}`
  return row
}

function countSites(sql: Sql, accountId: string, siteIds: readonly string[]): Fragment {
  return sql`select count(*) from sites where account_id = ${accountId} and id = any (${toArrayLiteral(siteIds)}::uuid[])`
}

function columns(sql: Sql) {
  return sql`k.id, k.name, k.hint, k.scopes, k.site_ids, coalesce(l.email, k.created_by::text) as created_by, k.created_at, k.expires_at,
    k.last_used_on, k.revoked_at`
}

function withMaker(sql: Sql) {
  return sql`left join logins l on l.account_id = k.account_id and l.user_id = k.created_by`
}

export function listKeysOf(
  sql: Sql,
  { accountId, userId, at }: { readonly accountId: string; readonly userId: string; readonly at: Date },
): Promise<{ id: string; name: string }[]> {
  return sql<{ id: string; name: string }[]>`
    select id, name from api_keys
    where account_id = ${accountId} and created_by = ${userId} and revoked_at is null
      and (expires_at is null or expires_at > ${at}) order by id`
}
