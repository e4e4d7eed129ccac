import type { Sql } from 'postgres'

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

export async function hasAccounts(sql: Sql): Promise<boolean> {
  const rows = await sql`select account_id from accounts limit 1`
  return rows.length > 0
}
