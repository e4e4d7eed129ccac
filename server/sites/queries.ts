import type { Fragment, Sql } from 'postgres'
import type { Site, SiteChange, SiteDraft } from '../../src/contract/index.ts'
import { type Administrator, afterAccount, auditEntry, lockedAccount, target } from '../audit/entries.ts'
import { siteState, tokensState } from '../audit/states.ts'
import { empty } from '../db/fragments.ts'
import { andReached, type Reach } from '../db/reach.ts'
import type { Row } from '../db/rows.ts'

export type SiteRow = Row<Site>

export interface SiteKey {
  readonly accountId: string
  readonly id: string
}

export function listSites(sql: Sql, reach: Reach, includeArchived: boolean): Promise<SiteRow[]> {
  return sql<SiteRow[]>`
    select ${columns(sql)} from sites
    where account_id = ${reach.accountId} ${andReached(sql, reach, sql`id`)}
      and (archived_at is null or ${includeArchived}) order by id desc`
}

/** Returns true if another active site has the name, and this one does not. A null `name` means the site's own. */
export async function isNameTaken(sql: Sql, { accountId, id }: SiteKey, name: string | null): Promise<boolean> {
  const own = sql`from sites where account_id = ${accountId} and id = ${id}`
  const rows = await sql`
    select 1 from sites s
    where s.account_id = ${accountId} and s.id <> ${id} and s.archived_at is null
      and s.name = coalesce(${name}, (select name ${own}))
      and not exists (select 1 ${own} and archived_at is null and name = s.name)
    limit 1`
  return rows.length > 0
}

/** Of published notices, by policy version. */
export function listValidities(
  sql: Sql,
  { accountId, id }: SiteKey,
): Promise<{ policy_version: number; valid_for: string | null }[]> {
  return sql<{ policy_version: number; valid_for: string | null }[]>`
    select policy_version, valid_for from notices
    where account_id = ${accountId} and site_id = ${id} and published_entry is not null order by policy_version`
}

export async function insertSite(
  sql: Sql,
  { accountId, id }: SiteKey,
  {
    name,
    policy_version = 1,
    allowed_origins = [],
    retention = null,
    sealed_proof = null,
    strict_notices = false,
  }: SiteDraft,
  { tokenHash, at }: { readonly tokenHash: Buffer; readonly at: Date },
  actor: Administrator,
): Promise<SiteRow | undefined> {
  const [row] = await sql<SiteRow[]>`
    with ${lockedAccount(sql, accountId)}, inserted as (
      insert into sites (account_id, id, name, policy_version, allowed_origins, retention,
        sealed_proof, strict_notices, created_at, updated_at)
      select account_id, ${id}::uuid, ${name}, ${policy_version}::integer, ${sql.json(allowed_origins)}::jsonb,
        ${retention && sql.json(retention)}::jsonb, ${sealed_proof && sql.json({ ...sealed_proof, since: at.toISOString() })}::jsonb, ${strict_notices}::boolean,
        ${at}::timestamptz, ${at}::timestamptz
      from account where account_id = ${accountId}
      returning *
    ), token as (
      insert into site_tokens (account_id, site_id, token_hash, created_at)
      select account_id, id, ${tokenHash}::bytea, ${at}::timestamptz from inserted where account_id = ${accountId}
      returning *
    ), change as (
      select ${target(sql, 'site', sql`s.id`)} as target, null::jsonb as before,
        ${siteState(sql)} || (select ${tokensState(sql)} from token t) as after
      from inserted s
    ), ${auditEntry(sql, { accountId, actor, action: 'site_created', at })}
    select ${columns(sql)} from inserted`
  return row
}

/** Sets `updated_at` only if something changes. Null removes a retention or sealed proof. */
export async function updateSite(
  sql: Sql,
  { accountId, id }: SiteKey,
  change: SiteChange,
  { actor, at }: { readonly actor: Administrator; readonly at: Date },
  condition = empty(sql),
): Promise<SiteRow | undefined> {
  const { name = null, policy_version = null, retention, sealed_proof, strict_notices = null, archived = null } = change
  const origins = change.allowed_origins ? sql.json(change.allowed_origins) : null
  const [row] = await sql<SiteRow[]>`
    with ${lockedAccount(sql, accountId)}, present as materialized (
      select * from sites s
      where s.account_id = ${accountId} and s.id = ${id} ${condition} and ${afterAccount(sql)} for no key update
    ), wanted as (
      select id, coalesce(${name}, name) as name,
        coalesce(${policy_version}::integer, policy_version) as policy_version,
        coalesce(${origins}::jsonb, allowed_origins) as allowed_origins,
        ${retention === undefined ? sql`retention` : sql`${retention && sql.json(retention)}::jsonb`} as retention,
        ${sealed_proof === undefined ? sql`sealed_proof` : sealedProof(sql, sealed_proof, at)} as sealed_proof,
        coalesce(${strict_notices}::boolean, strict_notices) as strict_notices,
        case coalesce(${archived}::boolean, archived_at is not null)
          when true then coalesce(archived_at, ${at}::timestamptz) end as archived_at
      from present
    ), changed as (
      update sites s set
        name = w.name, policy_version = w.policy_version, allowed_origins = w.allowed_origins,
        retention = w.retention, sealed_proof = w.sealed_proof, strict_notices = w.strict_notices, archived_at = w.archived_at,
        updated_at = case
          when (w.name, w.policy_version, w.allowed_origins, w.retention, w.sealed_proof, w.strict_notices, w.archived_at)
            is not distinct from
              (s.name, s.policy_version, s.allowed_origins, s.retention, s.sealed_proof, s.strict_notices, s.archived_at)
          then s.updated_at else ${at}::timestamptz end
      from wanted w where s.account_id = ${accountId} and s.id = ${id} and w.id = s.id
      returning s.*
    ), change as (
      select ${target(sql, 'site', sql`s.id`)} as target, (select ${siteState(sql)} from present s) as before,
        ${siteState(sql)} as after
      from changed s
    ), ${auditEntry(sql, { accountId, actor, action: 'site_updated', at })}
    select ${columns(sql)} from changed`
  return row
}

/**
 * Expires earlier tokens at `until`, and deletes expired ones. Returns false for an unknown site. One of two concurrent
 * calls fails (23505).
 */
export async function replaceToken(
  sql: Sql,
  { accountId, id }: SiteKey,
  { tokenHash, at, until }: { readonly tokenHash: Buffer; readonly at: Date; readonly until: Date },
  actor: Administrator,
): Promise<boolean> {
  const ofSite = sql`t.account_id = ${accountId} and t.site_id = ${id} and t.token_hash = p.token_hash`
  const written = await sql`
    with ${lockedAccount(sql, accountId)}, present as materialized (
      select * from site_tokens
      where account_id = ${accountId} and site_id = ${id} and ${afterAccount(sql)} for no key update
    ), ended as (
      update site_tokens t set expires_at = least(t.expires_at, ${until}::timestamptz)
      from present p where ${ofSite} and (t.expires_at is null or t.expires_at > ${at})
      returning t.*
    ), deleted as (
      delete from site_tokens t using present p where ${ofSite} and t.expires_at <= ${at}
    ), added as (
      insert into site_tokens (account_id, site_id, token_hash, created_at)
      select s.account_id, s.id, ${tokenHash}::bytea, ${at}::timestamptz
      from account a join sites s on s.account_id = a.account_id cross join (select count(*) from ended) as first
      where s.account_id = ${accountId} and s.id = ${id}
      returning *
    ), change as (
      select ${target(sql, 'site', sql`added.site_id`)} as target, (select ${tokensState(sql)} from present t) as before,
        (select ${tokensState(sql)} from (select * from ended union all select * from added) as t) as after
      from added
    ), ${auditEntry(sql, { accountId, actor, action: 'site_token_rotated', at })}
    select site_id from added`
  return written.length === 1
}

/** Turned on again, it has a new `since`. */
function sealedProof(sql: Sql, setting: SiteChange['sealed_proof'], at: Date): Fragment {
  if (!setting) return sql`null::jsonb`
  return sql`jsonb_build_object('since', coalesce(sealed_proof->>'since', ${at.toISOString()}::text)) || ${sql.json(setting)}::jsonb`
}

function columns(sql: Sql) {
  return sql`id, name, policy_version, allowed_origins, retention, sealed_proof, created_at, updated_at,
    strict_notices, archived_at`
}
