import type { Sql } from 'postgres'
import type { AccountRow, UserInfo } from '../../src/contract/index.ts'
import { afterAccount, auditEntry, insertedEntry, lockedAccount, machine, target } from '../audit/entries.ts'
import { accountState, keyState, siteState, tokensState, userState } from '../audit/states.ts'
import type { Row } from '../db/rows.ts'
import type { UserKey } from '../session/queries.ts'

export interface AccountRows {
  readonly accountId: string
  readonly plan: string
  readonly monthlyQuota: number | null
  readonly user: { readonly id: string; readonly email: string; readonly passwordHash: string }
  readonly site: { readonly id: string; readonly name: string; readonly tokenHash: Buffer }
  readonly key: {
    readonly id: string
    readonly name: string
    readonly keyHash: Buffer
    readonly hint: string
  }
  readonly at: Date
}

/** Returns false if the e-mail has a user. */
export async function insertAccount(
  sql: Sql,
  { accountId, user, site, key, at, ...rows }: AccountRows,
): Promise<boolean> {
  const event = { accountId, actor: machine, action: 'account_created', at } as const
  const written = await sql`
    with login as (
      insert into logins (email, account_id, user_id) values (${user.email}, ${accountId}, ${user.id})
      on conflict (email) do nothing returning *
    ), account as (
      select account_id, ${rows.plan}::text as plan, ${rows.monthlyQuota}::bigint as monthly_quota,
        ${at}::timestamptz as created_at, 0 as entries, null::bytea as entries_head
      from login
    ), owner as (
      insert into users (account_id, id, password_hash, created_at)
      select account_id, ${user.id}::uuid, ${user.passwordHash}, created_at from account
      returning *
    ), site as (
      insert into sites (account_id, id, name, created_at, updated_at)
      select account_id, ${site.id}::uuid, ${site.name}, created_at, created_at from account
      returning *
    ), token as (
      insert into site_tokens (account_id, site_id, token_hash, created_at)
      select account_id, id, ${site.tokenHash}::bytea, created_at from site
      returning *
    ), api_key as (
      insert into api_keys (account_id, id, name, key_hash, hint, created_at)
      select account_id, ${key.id}::uuid, ${key.name}, ${key.keyHash}::bytea, ${key.hint}, created_at from account
      returning *
    ), change as (
      select ${target(sql, 'account', sql`a.account_id`)} as target, null::jsonb as before,
        ${accountState(sql)} || jsonb_build_object(
          'users', (select jsonb_agg(${userState(sql)}) from owner u cross join login l),
          'sites', (select jsonb_agg(${siteState(sql)} || (select ${tokensState(sql)} from token t)) from site s),
          'keys', (select jsonb_agg(${keyState(sql)}) from api_key k)) as after
      from account a
    ), ${insertedEntry(sql, event)}, created as (
      insert into accounts (account_id, plan, monthly_quota, created_at, entries, entries_head)
      select a.account_id, a.plan, a.monthly_quota, a.created_at, document.version, document.hash
      from account a join document on document.account_id = a.account_id
      returning account_id
    )
    select account_id from created`
  return written.length === 1
}

export type QuotaRow = Row<Omit<AccountRow, 'remaining'>>

/** `month` is its first day, `2026-11-01`; no account means all. */
export async function selectQuotas(sql: Sql, month: string, accountId: string | null = null): Promise<QuotaRow[]> {
  return await sql<QuotaRow[]>`
    select a.account_id, a.plan, a.monthly_quota::float8, a.created_at, coalesce(max(u.used), 0)::float8 as used,
      coalesce(string_agg(l.email, ' ' order by l.email), '') as email
    from accounts a
    left join usage u on u.account_id = a.account_id and u.month = ${month}::date
    left join logins l on l.account_id = a.account_id
    where ${accountId === null ? sql`true` : sql`a.account_id = ${accountId}`}
    group by a.account_id order by a.account_id`
}

export async function updateQuota(
  sql: Sql,
  accountId: string,
  { monthlyQuota, at }: { readonly monthlyQuota: number | null; readonly at: Date },
): Promise<boolean> {
  const quota = sql`${monthlyQuota}::bigint`
  const event = { accountId, actor: machine, action: 'quota_changed', at } as const
  const rows = await sql`
    with ${lockedAccount(sql, accountId)}, change as (
      select ${target(sql, 'account', sql`a.account_id`)} as target, ${accountState(sql)} as before,
        ${accountState(sql)} || jsonb_build_object('monthly_quota', ${quota}) as after
      from account a
    ), ${auditEntry(sql, event, sql`monthly_quota = ${quota},`)}
    select account_id from account`
  return rows.length === 1
}

export type UserRow = Row<UserInfo>

export async function insertUser(
  sql: Sql,
  {
    account_id,
    id,
    email,
    role,
    created_at: at,
    passwordHash,
  }: Omit<UserRow, 'keys'> & { readonly passwordHash: string },
): Promise<boolean> {
  const event = { accountId: account_id, actor: machine, action: 'user_added', at } as const
  const written = await sql`
    with ${lockedAccount(sql, account_id)}, login as (
      insert into logins (email, account_id, user_id) select ${email}, account_id, ${id}::uuid from account
      on conflict (email) do nothing returning *
    ), added as (
      insert into users (account_id, id, password_hash, role, created_at)
      select account_id, ${id}::uuid, ${passwordHash}, ${role}, ${at}::timestamptz from login
      returning *
    ), change as (
      select ${target(sql, 'user', sql`u.id`)} as target, null::jsonb as before, ${userState(sql)} as after
      from added u cross join login l
    ), ${auditEntry(sql, event)}
    select id from added`
  return written.length === 1
}

export function selectUsers(sql: Sql, accountId: string | null): Promise<UserRow[]> {
  return sql<UserRow[]>`
    select u.account_id, u.id, coalesce(l.email, '') as email, u.role, u.created_at, (
        select count(*)::integer from api_keys k
        where k.account_id = u.account_id and k.created_by = u.id and k.revoked_at is null
          and (k.expires_at is null or k.expires_at > now())) as keys
    from users u left join logins l on l.account_id = u.account_id and l.user_id = u.id
    where ${accountId === null ? sql`true` : sql`u.account_id = ${accountId}`}
    order by u.account_id, u.id`
}

/**
 * Returns false for an unknown user or the last owner. Locks the owners, so that two calls cannot remove the last two.
 */
export async function deleteUser(sql: Sql, { accountId, userId }: UserKey, at: Date): Promise<boolean> {
  const event = { accountId, actor: machine, action: 'user_removed', at } as const
  const deleted = await sql`
    with ${lockedAccount(sql, accountId)}, owners as materialized (
      select id from users
      where account_id = ${accountId} and role = 'owner' and ${afterAccount(sql)} order by id for update
    ), removed as (
      delete from users u using account a where u.account_id = ${accountId} and u.id = ${userId}
        and a.account_id = u.account_id and (u.role <> 'owner' or exists (select 1 from owners where id <> ${userId}))
      returning u.*
    ), login as (
      delete from logins where account_id = ${accountId} and user_id = ${userId} and exists (select 1 from removed)
      returning *
    ), change as (
      select ${target(sql, 'user', sql`u.id`)} as target, ${userState(sql)} as before, null::jsonb as after
      from removed u left join login l on l.user_id = u.id
    ), ${auditEntry(sql, event)}
    select id from removed`
  return deleted.length === 1
}

/** Logins are replicated to every server of a Citus cluster. */
export async function hasAccounts(sql: Sql): Promise<boolean> {
  const rows = await sql`select account_id from logins limit 1`
  return rows.length > 0
}
