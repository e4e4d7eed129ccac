import type { Sql } from 'postgres'
import { accountState, keyState, siteState, tokensState, userState, verifiedNoticeState } from '../audit/states.ts'
import { instant } from '../db/fragments.ts'
import { noId } from '../ids.ts'

/** Columns are null if the table or the log lacks the entry. */
export interface EntryRow {
  readonly version: number
  readonly document: string | null
  readonly created_at: string | null
  readonly logged: string | null
}

const entriesPerPage = 200

export async function* listEntries(sql: Sql, accountId: string): AsyncGenerator<EntryRow> {
  let after = -1
  for (;;) {
    const rows = await sql<EntryRow[]>`
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
    yield* rows
    if (rows.length < entriesPerPage) return
    after = rows.at(-1)?.version ?? after
  }
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

export async function* listSettings(sql: Sql, accountId: string): AsyncGenerator<SettingRow> {
  const [account] = await sql<{ state: string }[]>`
    select ${accountState(sql)}::text as state from accounts a where account_id = ${accountId}`
  if (account) yield { name: 'account', ...account }
  yield* paged(
    'site',
    after => sql<StateRow[]>`
      select s.id, (${siteState(sql)} || (
          select ${tokensState(sql)} from site_tokens t where t.account_id = ${accountId} and t.site_id = s.id
        ))::text as state
      from sites s where s.account_id = ${accountId} and s.id > ${after} order by s.id limit ${rowsPerPage}`,
  )
  yield* paged(
    'api_key',
    after => sql<StateRow[]>`
      select k.id, ${keyState(sql)}::text as state from api_keys k
      where k.account_id = ${accountId} and k.id > ${after} order by k.id limit ${rowsPerPage}`,
  )
  yield* paged(
    'user',
    after => sql<StateRow[]>`
      select coalesce(u.id, l.user_id) as id, ${userState(sql)}::text as state
      from (select * from users where account_id = ${accountId} and id > ${after}) u
      full join (select * from logins where account_id = ${accountId} and user_id > ${after}) l on l.user_id = u.id
      order by 1 limit ${rowsPerPage}`,
  )
  yield* listNotices(sql, accountId)
}

interface StateRow {
  readonly id: string
  readonly state: string
}

async function* paged(kind: string, listPage: (after: string) => Promise<StateRow[]>): AsyncGenerator<SettingRow> {
  for (let after = noId; ; ) {
    const rows = await listPage(after)
    for (const { id, state } of rows) yield { name: `${kind} ${id}`, state }
    if (rows.length < rowsPerPage) return
    after = rows.at(-1)?.id ?? after
  }
}

/** Each text of up to 1 MiB is hashed. */
const noticesPerPage = 20

async function* listNotices(sql: Sql, accountId: string): AsyncGenerator<SettingRow> {
  for (let after = { site_id: noId, policy_version: 0 }; ; ) {
    const rows = await sql<(typeof after & { state: string })[]>`
      select n.site_id, n.policy_version,
        (${verifiedNoticeState(sql, accountId)} || jsonb_build_object('published_entry', n.published_entry))::text as state
      from notices n
      where n.account_id = ${accountId} and n.published_entry is not null
        and (n.site_id, n.policy_version) > (${after.site_id}::uuid, ${after.policy_version}::integer)
      order by n.site_id, n.policy_version limit ${noticesPerPage}`
    for (const { site_id, policy_version, state } of rows) yield { name: `notice ${site_id} ${policy_version}`, state }
    if (rows.length < noticesPerPage) return
    after = rows.at(-1) ?? after
  }
}
