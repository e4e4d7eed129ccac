import type { Fragment, Sql } from 'postgres'
import { documentPageLimit } from '../../src/contract/index.ts'
import { administrator, auditEntry, lockedAccount, target } from '../audit/entries.ts'
import { documentState } from '../audit/states.ts'
import type { Caller } from '../auth/caller.ts'
import { empty, staticFragment } from '../db/fragments.ts'

export interface DocumentRow {
  readonly id: string
  readonly sha256: Buffer
  readonly document: string
  readonly public_key: Buffer
  readonly key_known_since: Date
  readonly created_at: Date
}

export interface NewDocument extends Omit<DocumentRow, 'key_known_since'> {
  readonly type: string
  readonly number: number
  readonly key_id: string
  readonly ticket: string
  readonly subject_hmacs: readonly string[]
}

export interface DocumentFilters {
  readonly ticket: string | undefined
  readonly subjectHmac: string | undefined
  readonly keyId: string | undefined
  /** The smallest and the largest digest. */
  readonly digests: readonly [Buffer, Buffer] | undefined
  readonly before: string | undefined
}

/** Writes nothing if the account has the document. */
export async function insertDocument(sql: Sql, row: NewDocument, caller: Caller): Promise<void> {
  const { accountId } = caller
  const { id, sha256, document, public_key, type, number, key_id, ticket, subject_hmacs, created_at: at } = row
  await sql`
    with ${lockedAccount(sql, accountId)}, inserted as (
      insert into operator_documents (account_id, id, sha256, document, public_key, type, number, key_id, ticket,
        subject_hmacs, created_at)
      select account_id, ${id}::uuid, ${sha256}::bytea, ${document}, ${public_key}::bytea, ${type}, ${number}::bigint,
        ${key_id}, ${ticket}, ${sql.json([...subject_hmacs])}::jsonb, ${at}::timestamptz
      from account where account_id = ${accountId}
      on conflict (account_id, sha256) do nothing
      returning *
    ), change as (
      select ${target(sql, 'document', sql`d.id`)} as target, null::jsonb as before, ${documentState(sql)} as after
      from inserted d
    ), ${auditEntry(sql, { accountId, actor: administrator(caller), action: 'document_kept', at })}
    select id from inserted`
}

const columns = staticFragment(sql => sql`d.id, d.sha256, d.document, d.public_key, d.key_id, d.created_at`)

/** Newest first: as many as fit into a page, and at least one. */
export async function listDocuments(
  sql: Sql,
  accountId: string,
  filters: DocumentFilters,
  limit: number,
): Promise<{ readonly rows: DocumentRow[]; readonly hasMore: boolean }> {
  const rows = await sql<(DocumentRow & { readonly has_more: boolean })[]>`
    with found as (
      select ${columns(sql)}, row_number() over newest as place,
        sum(octet_length(d.document)) over newest as size, count(*) over () as total
      from (
        select * from operator_documents d where d.account_id = ${accountId} ${conditions(sql, filters)}
        order by d.id desc limit ${limit + 1}
      ) d
      window newest as (order by d.id desc)
    )
    select ${columns(sql)}, d.place < d.total as has_more,
      (select f.created_at from operator_documents f where f.account_id = ${accountId} and f.key_id = d.key_id
        order by f.id limit 1) as key_known_since
    from found d where d.place <= ${limit} and (d.place = 1 or d.size <= ${documentPageLimit})
    order by d.id desc`
  return { rows, hasMore: rows.at(-1)?.has_more ?? false }
}

function conditions(sql: Sql, { ticket, subjectHmac, keyId, digests, before }: DocumentFilters): Fragment {
  let all = empty(sql)
  if (ticket !== undefined) all = sql`${all} and d.ticket = ${ticket}`
  if (subjectHmac !== undefined) all = sql`${all} and d.subject_hmacs @> ${sql.json([subjectHmac])}`
  if (keyId !== undefined) all = sql`${all} and d.key_id = ${keyId}`
  if (digests !== undefined) all = sql`${all} and d.sha256 between ${digests[0]} and ${digests[1]}`
  if (before !== undefined) all = sql`${all} and d.id < ${before}`
  return all
}
