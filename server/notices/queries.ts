import { randomInt } from 'node:crypto'
import type { Fragment, Sql } from 'postgres'
import type { Notice, NoticeDraft } from '../../src/contract/index.ts'
import { type Administrator, afterAccount, auditEntry, lockedAccount } from '../audit/entries.ts'
import { noticeState, noticeTexts } from '../audit/states.ts'
import { staticFragment } from '../db/fragments.ts'
import type { Row } from '../db/rows.ts'

export interface NoticeKey {
  readonly accountId: string
  readonly siteId: string
  readonly version: number
}

const maxFirstRevision = 1_000_000_000

export type NoticeRow = Row<Omit<Notice, 'state'>>

function columns(sql: Sql, accountId: string): Fragment {
  return sql`n.site_id, n.policy_version, ${noticeTexts(sql, accountId)} as texts, n.purposes, n.controller, n.valid_for,
    n.requires_renewal, n.effective_from, n.revision, n.created_at, n.updated_at, e.created_at as published_at,
    n.published_entry, l.leaf_index::float8 as leaf_index`
}

const joined = staticFragment(
  sql => sql`notices n
    left join account_entries e on e.account_id = n.account_id and e.version = n.published_entry
    left join log_entries l on l.account_id = n.account_id and l.consent_id = n.account_id and l.version = n.published_entry`,
)

export async function hasSite(sql: Sql, accountId: string, siteId: string): Promise<boolean> {
  const rows = await sql`select from sites where account_id = ${accountId} and id = ${siteId}`
  return rows.length > 0
}

export function listNotices(sql: Sql, accountId: string, siteId: string): Promise<NoticeRow[]> {
  return sql<NoticeRow[]>`
    select ${columns(sql, accountId)} from ${joined(sql)} where n.account_id = ${accountId} and n.site_id = ${siteId}
    order by n.policy_version desc`
}

export async function findNotice(sql: Sql, { accountId, siteId, version }: NoticeKey): Promise<NoticeRow | undefined> {
  const [row] = await sql<NoticeRow[]>`
    select ${columns(sql, accountId)} from ${joined(sql)}
    where n.account_id = ${accountId} and n.site_id = ${siteId} and n.policy_version = ${version}`
  return row
}

/**
 * Writes nothing for an unknown site, a published notice, or unchanged details. The first revision is random, so that a
 * new draft never repeats one.
 */
export async function upsertDraft(
  sql: Sql,
  { accountId, siteId, version }: NoticeKey,
  { purposes = [], controller = null, valid_for = null, requires_renewal = false }: NoticeDraft,
  { effectiveFrom, at }: { readonly effectiveFrom: Date | null; readonly at: Date },
): Promise<void> {
  const named = purposes.map(({ key, title, language = null, iri = null }) => ({ key, title, language, iri }))
  await sql`
    insert into notices as n (account_id, site_id, policy_version, purposes, controller, valid_for, requires_renewal,
      effective_from, revision, created_at, updated_at)
    select account_id, id, ${version}::integer, ${sql.json(named)}::jsonb, ${controller},
      ${valid_for}, ${requires_renewal}::boolean, ${effectiveFrom}::timestamptz, ${randomInt(1, maxFirstRevision)}::integer,
      ${at}::timestamptz, ${at}::timestamptz
    from sites where account_id = ${accountId} and id = ${siteId}
    on conflict (account_id, site_id, policy_version) do update set
      revision = n.revision + 1, purposes = excluded.purposes, controller = excluded.controller,
      valid_for = excluded.valid_for, requires_renewal = excluded.requires_renewal,
      effective_from = excluded.effective_from, updated_at = excluded.updated_at
    where n.published_entry is null
      and (n.purposes, n.controller, n.valid_for, n.requires_renewal, n.effective_from) is distinct from
        (excluded.purposes, excluded.controller, excluded.valid_for, excluded.requires_renewal, excluded.effective_from)`
}

export async function deleteDraft(sql: Sql, { accountId, siteId, version }: NoticeKey): Promise<boolean> {
  const rows = await sql`
    delete from notices
    where account_id = ${accountId} and site_id = ${siteId} and policy_version = ${version} and published_entry is null
    returning 1`
  return rows.length > 0
}

export interface StoredText {
  readonly language: string
  readonly mediaType: string
  readonly sha256: Buffer
  readonly content: Buffer
}

/** Returns false unless a draft lacks this text and has room for it. */
export async function upsertText(
  sql: Sql,
  { accountId, siteId, version }: NoticeKey,
  { language, mediaType, sha256, content }: StoredText,
  { at, maxTexts }: { readonly at: Date; readonly maxTexts: number },
): Promise<boolean> {
  const rows = await sql`
    with others as (
      select language from notice_texts
      where account_id = ${accountId} and site_id = ${siteId} and policy_version = ${version}
        and (language <> ${language} or (sha256 = ${sha256}::bytea and media_type = ${mediaType}))
    ), draft as (
      update notices set revision = revision + 1, updated_at = ${at}
      where account_id = ${accountId} and site_id = ${siteId} and policy_version = ${version}
        and published_entry is null and (select count(*) from others) < ${maxTexts}::integer
        and not exists (select 1 from others where language = ${language})
      returning site_id, policy_version
    ), written as (
      insert into notice_texts (account_id, site_id, policy_version, language, media_type, sha256, content)
      select a.account_id, site_id, policy_version, ${language}, ${mediaType}, ${sha256}::bytea, ${content}::bytea
      from draft join accounts a on a.account_id = ${accountId}
      on conflict (account_id, site_id, policy_version, language) do update set
        media_type = excluded.media_type, sha256 = excluded.sha256, content = excluded.content
      returning language
    )
    select language from written`
  return rows.length > 0
}

export async function deleteText(
  sql: Sql,
  { accountId, siteId, version }: NoticeKey,
  language: string,
  at: Date,
): Promise<boolean> {
  const rows = await sql`
    with draft as (
      update notices n set revision = revision + 1, updated_at = ${at}
      where account_id = ${accountId} and site_id = ${siteId} and policy_version = ${version}
        and published_entry is null and exists (
          select 1 from notice_texts t
          where t.account_id = ${accountId} and t.site_id = ${siteId} and t.policy_version = ${version}
            and t.language = ${language})
      returning account_id
    )
    delete from notice_texts t using draft
    where t.account_id = ${accountId} and draft.account_id = t.account_id and t.site_id = ${siteId}
      and t.policy_version = ${version} and t.language = ${language}
    returning 1`
  return rows.length > 0
}

export async function findText(
  sql: Sql,
  { accountId, siteId, version }: NoticeKey,
  language: string,
): Promise<Pick<StoredText, 'mediaType' | 'content'> | undefined> {
  const [row] = await sql<Pick<StoredText, 'mediaType' | 'content'>[]>`
    select media_type as "mediaType", content from notice_texts
    where account_id = ${accountId} and site_id = ${siteId} and policy_version = ${version} and language = ${language}`
  return row
}

/** Returns false unless the draft has this revision, which every change increments. */
export async function publishDraft(
  sql: Sql,
  { accountId, siteId, version }: NoticeKey,
  revision: number,
  { actor, at }: { readonly actor: Administrator; readonly at: Date },
): Promise<boolean> {
  const rows = await sql`
    with ${lockedAccount(sql, accountId)}, draft as materialized (
      select * from notices
      where account_id = ${accountId} and site_id = ${siteId} and policy_version = ${version}
        and published_entry is null and revision = ${revision} and ${afterAccount(sql)}
      for no key update
    ), change as (
      select jsonb_build_object('kind', 'notice', 'id', n.site_id, 'policy_version', n.policy_version) as target,
        null::jsonb as before, ${noticeState(sql, accountId)} as after
      from notices n where n.account_id = ${accountId} and n.site_id = ${siteId} and n.policy_version = ${version}
        and exists (select 1 from draft)
    ), ${auditEntry(sql, { accountId, actor, action: 'notice_published', at })}
    update notices n set published_entry = entry.version from entry
    where n.account_id = ${accountId} and entry.account_id = n.account_id and n.site_id = ${siteId}
      and n.policy_version = ${version}
    returning 1`
  return rows.length > 0
}

/** Condition on a site `s`: its policy version is lower, and unchanged since the publication's entry. */
export function policyVersionIsDue(sql: Sql, { accountId, siteId, version }: NoticeKey, entry: number): Fragment {
  return sql`and s.policy_version < ${version} and not exists (
      select 1 from account_entries e
      where e.account_id = ${accountId} and e.version > ${entry} and e.document::jsonb->>'action' = 'site_updated'
        and e.document::jsonb#>>'{target,id}' = ${siteId}::text and e.document::jsonb#>'{after,policy_version}' is not null)`
}
