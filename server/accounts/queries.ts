import type { Sql } from 'postgres'
import type { Role } from '../../src/contract/index.ts'
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

/** Returns false, and inserts nothing, if the e-mail has an account. */
export async function insertAccount(
  sql: Sql,
  { accountId, user, site, key, at, ...rows }: AccountRows,
): Promise<boolean> {
  const written = await sql`
    with login as (
      insert into logins (email, account_id, user_id) values (${user.email}, ${accountId}, ${user.id})
      on conflict (email) do nothing returning account_id
    ), account as (
      insert into accounts (account_id, plan, monthly_quota, created_at)
      select account_id, ${rows.plan}, ${rows.monthlyQuota}::bigint, ${at}::timestamptz from login
      returning account_id
    ), owner as (
      insert into users (account_id, id, password_hash, created_at)
      select account_id, ${user.id}::uuid, ${user.passwordHash}, ${at}::timestamptz from account
    ), site as (
      insert into sites (account_id, id, name, created_at, updated_at)
      select account_id, ${site.id}::uuid, ${site.name}, ${at}::timestamptz, ${at}::timestamptz from account
      returning account_id, id
    ), token as (
      insert into site_tokens (account_id, site_id, token_hash, created_at)
      select account_id, id, ${site.tokenHash}::bytea, ${at}::timestamptz from site
    ), api_key as (
      insert into api_keys (account_id, id, name, key_hash, hint, created_at)
      select account_id, ${key.id}::uuid, ${key.name}, ${key.keyHash}::bytea, ${key.hint}, ${at}::timestamptz from account
    )
    select account_id from account`
  return written.length === 1
}

export interface QuotaRow {
  account_id: string
  email: string
  plan: string
  monthly_quota: number | null
  used: number
  created_at: Date
}

/** All accounts, or one. `month`: its first day, `2026-11-01`. */
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

/** Returns false if there is no such account. */
export async function updateQuota(sql: Sql, accountId: string, monthlyQuota: number | null): Promise<boolean> {
  const rows = await sql`
    update accounts set monthly_quota = ${monthlyQuota}::bigint where account_id = ${accountId} returning account_id`
  return rows.length === 1
}

export interface UserRow {
  account_id: string
  id: string
  email: string
  role: Role
  created_at: Date
}

/** Returns false, and inserts nothing, if the e-mail has a user. */
export async function insertUser(
  sql: Sql,
  { account_id, id, email, role, created_at, passwordHash }: UserRow & { readonly passwordHash: string },
): Promise<boolean> {
  const written = await sql`
    with login as (
      insert into logins (email, account_id, user_id) values (${email}, ${account_id}, ${id})
      on conflict (email) do nothing returning account_id
    ), added as (
      insert into users (account_id, id, password_hash, role, created_at)
      select account_id, ${id}::uuid, ${passwordHash}, ${role}, ${created_at}::timestamptz from login
      returning id
    )
    select id from added`
  return written.length === 1
}

/** Of all accounts, or of one. */
export function selectUsers(sql: Sql, accountId: string | null): Promise<UserRow[]> {
  return sql<UserRow[]>`
    select u.account_id, u.id, coalesce(l.email, '') as email, u.role, u.created_at
    from users u left join logins l on l.account_id = u.account_id and l.user_id = u.id
    where ${accountId === null ? sql`true` : sql`u.account_id = ${accountId}`}
    order by u.account_id, u.id`
}

/**
 * Returns false, and deletes nothing, for an unknown user and for the last owner. Removals of owners wait for each other at
 * the first of them, so that two at once do not each count on the other's owner.
 */
export async function deleteUser(sql: Sql, { accountId, userId }: UserKey): Promise<boolean> {
  const deleted = await sql`
    with owners as (
      select id from users where account_id = ${accountId} and role = 'owner' order by id for update
    ), removed as (
      delete from users where account_id = ${accountId} and id = ${userId}
        and (role <> 'owner' or exists (select from owners where id <> ${userId}))
      returning id
    ), login as (
      delete from logins where account_id = ${accountId} and user_id = ${userId} and exists (select from removed)
    )
    select id from removed`
  return deleted.length === 1
}

export async function hasAccounts(sql: Sql): Promise<boolean> {
  const rows = await sql`select account_id from accounts limit 1`
  return rows.length > 0
}
