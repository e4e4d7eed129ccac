import type { Sql } from 'postgres'

export interface SiteRow {
  id: string
  name: string
  policy_version: number
  allowed_origins: string[]
  retention_days: number | null
  created_at: Date
  updated_at: Date
}

export interface SiteKey {
  readonly accountId: string
  readonly id: string
}

export function listSites(sql: Sql, accountId: string): Promise<SiteRow[]> {
  return sql<SiteRow[]>`select ${columns(sql)} from sites where account_id = ${accountId} order by id desc`
}

export async function insertSite(
  sql: Sql,
  { accountId, id }: SiteKey,
  site: {
    readonly name: string
    readonly policyVersion: number
    readonly allowedOrigins: readonly string[]
    readonly retentionDays: number | null
    readonly tokenHash: Buffer
    readonly at: Date
  },
): Promise<SiteRow | undefined> {
  const [row] = await sql<SiteRow[]>`
    with inserted as (
      insert into sites (account_id, id, name, policy_version, allowed_origins, retention_days,
        created_at, updated_at)
      values (${accountId}, ${id}, ${site.name}, ${site.policyVersion}, ${sql.json([...site.allowedOrigins])},
        ${site.retentionDays}, ${site.at}, ${site.at})
      returning *
    ), token as (
      insert into site_tokens (account_id, site_id, token_hash, created_at)
      select a.account_id, inserted.id, ${site.tokenHash}::bytea, ${site.at}::timestamptz
      from inserted join accounts a on a.account_id = ${accountId}
    )
    select ${columns(sql)} from inserted`
  return row
}

/** Sets `updated_at` only if something changes. Returns undefined for an unknown site. */
export async function updateSite(
  sql: Sql,
  { accountId, id }: SiteKey,
  change: {
    readonly name: string | null
    readonly policyVersion: number | null
    readonly allowedOrigins: readonly string[] | null
    /** Undefined keeps it; null is never. */
    readonly retentionDays: number | null | undefined
    readonly at: Date
  },
): Promise<SiteRow | undefined> {
  const origins = change.allowedOrigins && sql.json([...change.allowedOrigins])
  const retention = change.retentionDays === undefined ? sql`retention_days` : sql`${change.retentionDays}::integer`
  const [row] = await sql<SiteRow[]>`
    update sites set
      name = coalesce(${change.name}, name),
      policy_version = coalesce(${change.policyVersion}::integer, policy_version),
      allowed_origins = coalesce(${origins}::jsonb, allowed_origins),
      retention_days = ${retention},
      updated_at = case
        when (coalesce(${change.name}, name), coalesce(${change.policyVersion}::integer, policy_version),
          coalesce(${origins}::jsonb, allowed_origins), ${retention})
          is not distinct from (name, policy_version, allowed_origins, retention_days)
        then updated_at else ${change.at}::timestamptz end
    where account_id = ${accountId} and id = ${id}
    returning ${columns(sql)}`
  return row
}

/**
 * Earlier tokens expire at `until` or sooner; expired ones are deleted. Returns false for an unknown site. Of two
 * concurrent calls one fails (23505), because a site has one token without an expiry.
 */
export async function replaceToken(
  sql: Sql,
  { accountId, id }: SiteKey,
  { tokenHash, at, until }: { readonly tokenHash: Buffer; readonly at: Date; readonly until: Date },
): Promise<boolean> {
  const written = await sql`
    with ended as (
      update site_tokens set expires_at = least(expires_at, ${until}::timestamptz)
      where account_id = ${accountId} and site_id = ${id} and (expires_at is null or expires_at > ${at})
      returning 1
    ), deleted as (
      delete from site_tokens where account_id = ${accountId} and site_id = ${id} and expires_at <= ${at}
    ), added as (
      insert into site_tokens (account_id, site_id, token_hash, created_at)
      select account_id, id, ${tokenHash}::bytea, ${at}::timestamptz
      from sites, (select count(*) from ended) as first
      where account_id = ${accountId} and id = ${id}
      returning site_id
    )
    select site_id from added`
  return written.length === 1
}

function columns(sql: Sql) {
  return sql`id, name, policy_version, allowed_origins, retention_days, created_at, updated_at`
}
