import type { Sql } from 'postgres'
import {
  accountState,
  documentState,
  holdState,
  keyState,
  requestState,
  siteState,
  tokensState,
  userState,
  verifiedNoticeState,
  webhookState,
} from '../audit/states.ts'
import { instant } from '../db/fragments.ts'
import { noId } from '../ids.ts'
import { pages } from './work.ts'

/** Columns are null if the table or the log lacks the entry. */
export interface EntryRow {
  readonly version: number
  readonly document: string | null
  readonly created_at: string | null
  readonly logged: string | null
}

const entriesPerPage = 200

export function listEntries(sql: Sql, accountId: string): AsyncGenerator<readonly EntryRow[]> {
  return pages(entriesPerPage, async last => {
    const after = last?.version ?? -1
    return await sql<EntryRow[]>`
      select v.version, e.document, ${instant(sql, sql`e.created_at`)} as created_at, encode(l.hash, 'hex') as logged
      from (
        (select version from account_entries where account_id = ${accountId} and version > ${after}
          order by version limit ${entriesPerPage})
        union
        (select version from log_entries
          where account_id = ${accountId} and consent_id = ${accountId} and version > ${after}
          order by version limit ${entriesPerPage})
        order by version limit ${entriesPerPage}
      ) as v
      left join account_entries e on e.account_id = ${accountId} and e.version = v.version
      left join log_entries l on l.account_id = ${accountId} and l.consent_id = ${accountId} and l.version = v.version
      order by v.version`
  })
}

export async function findHead(
  sql: Sql,
  accountId: string,
): Promise<{ readonly entries: number; readonly hash: string | null } | undefined> {
  const [row] = await sql<{ entries: number; hash: string | null }[]>`
    select entries, encode(entries_head, 'hex') as hash from accounts where account_id = ${accountId}`
  return row
}

export interface SettingRow {
  readonly name: string
  readonly state: string
}

const rowsPerPage = 500

/** Each text of up to 1 MiB is hashed. */
const noticesPerPage = 20

/** Each has at most 1 MiB. */
const documentsPerPage = 50

export async function* listSettings(sql: Sql, accountId: string): AsyncGenerator<readonly SettingRow[]> {
  yield await sql<SettingRow[]>`
    select 'account' as name, ${accountState(sql)}::text as state from accounts a where account_id = ${accountId}`
  yield* pages<SettingRow & { readonly id: string }>(
    rowsPerPage,
    last => sql`
      select s.id, 'site ' || s.id as name, (${siteState(sql)} || (
          select ${tokensState(sql)} from site_tokens t where t.account_id = ${accountId} and t.site_id = s.id
        ))::text as state
      from sites s where s.account_id = ${accountId} and s.id > ${last?.id ?? noId} order by s.id limit ${rowsPerPage}`,
  )
  yield* pages<SettingRow & { readonly id: string }>(
    rowsPerPage,
    last => sql`
      select k.id, 'api_key ' || k.id as name, ${keyState(sql)}::text as state from api_keys k
      where k.account_id = ${accountId} and k.id > ${last?.id ?? noId} order by k.id limit ${rowsPerPage}`,
  )
  yield* pages<SettingRow & { readonly id: string }>(
    rowsPerPage,
    last => sql`
      select coalesce(u.id, l.user_id) as id, 'user ' || coalesce(u.id, l.user_id) as name,
        ${userState(sql)}::text as state
      from (select * from users where account_id = ${accountId} and id > ${last?.id ?? noId}) u
      full join (select * from logins where account_id = ${accountId} and user_id > ${last?.id ?? noId}) l on l.user_id = u.id
      order by 1 limit ${rowsPerPage}`,
  )
  yield* pages<SettingRow & { readonly id: string }>(
    rowsPerPage,
    last => sql`
      select r.id, 'request ' || r.id as name, ${requestState(sql)}::text as state from subject_requests r
      where r.account_id = ${accountId} and r.id > ${last?.id ?? noId} order by r.id limit ${rowsPerPage}`,
  )
  yield* pages<SettingRow & { readonly id: string }>(
    documentsPerPage,
    last => sql`
      select d.id, 'document ' || d.id as name, ${documentState(sql)}::text as state from operator_documents d
      where d.account_id = ${accountId} and d.id > ${last?.id ?? noId} order by d.id limit ${documentsPerPage}`,
  )
  yield* pages<SettingRow & { readonly id: string }>(
    rowsPerPage,
    last => sql`
      select h.id, 'hold ' || h.id as name, ${holdState(sql)}::text as state from holds h
      where h.account_id = ${accountId} and h.id > ${last?.id ?? noId} order by h.id limit ${rowsPerPage}`,
  )
  yield* pages<SettingRow & { readonly id: string }>(
    rowsPerPage,
    last => sql`
      select w.id, 'webhook ' || w.id as name, ${webhookState(sql)}::text as state from webhooks w
      where w.account_id = ${accountId} and w.id > ${last?.id ?? noId} order by w.id limit ${rowsPerPage}`,
  )
  yield* pages<SettingRow & { readonly site_id: string; readonly policy_version: number }>(
    noticesPerPage,
    last => sql`
      select n.site_id, n.policy_version, 'notice ' || n.site_id || ' ' || n.policy_version as name,
        (${verifiedNoticeState(sql, accountId)} || jsonb_build_object('published_entry', n.published_entry))::text as state
      from notices n
      where n.account_id = ${accountId} and n.published_entry is not null
        and (n.site_id, n.policy_version) > (${last?.site_id ?? noId}::uuid, ${last?.policy_version ?? 0}::integer)
      order by n.site_id, n.policy_version limit ${noticesPerPage}`,
  )
}
