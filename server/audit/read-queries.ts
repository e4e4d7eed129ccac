import type { Sql } from 'postgres'
import type { ReadOperation, SubjectRead } from '../../src/contract/index.ts'
import { toArrayLiteral } from '../db/fragments.ts'
import { firstIdAt, lastIdAt } from '../ids.ts'

export interface ReadRow {
  readonly id: string
  readonly operation: ReadOperation
  readonly subjectHmac: Buffer
  readonly readBy: 'api_key' | 'user'
  readonly actorId: string
}

/** Can be repeated. The join with the account's row lets Citus write on one node. */
export async function insertReads(sql: Sql, accountId: string, rows: readonly ReadRow[]): Promise<void> {
  const column = (name: keyof ReadRow) => toArrayLiteral(rows.map(row => row[name]))
  await sql`
    insert into subject_reads (account_id, id, operation, subject_hmac, read_by, actor_id)
    select a.account_id, r.id, r.operation, r.subject_hmac, r.read_by, r.actor_id
    from unnest(
      ${column('id')}::uuid[], ${column('operation')}::text[], ${column('subjectHmac')}::bytea[],
      ${column('readBy')}::text[], ${column('actorId')}::uuid[]
    ) as r (id, operation, subject_hmac, read_by, actor_id)
    join accounts a on a.account_id = ${accountId}
    on conflict do nothing`
}

export interface ReadRange {
  readonly subjectHmac: Buffer | undefined
  /** In ms since 1970, inclusive. */
  readonly from: number | undefined
  readonly to: number | undefined
  /** Exclusive bound of the id. */
  readonly before: string | undefined
}

export type ListedRead = Pick<SubjectRead, 'id' | 'operation' | 'subject_hmac'> & {
  readonly read_by: string
  readonly actor_id: string
  readonly name: string | null
}

/** Newest first. */
export function listReads(
  sql: Sql,
  accountId: string,
  { subjectHmac, from, to, before }: ReadRange,
  limit: number,
): Promise<ListedRead[]> {
  return sql<ListedRead[]>`
    select r.id, r.operation, encode(r.subject_hmac, 'hex') as subject_hmac, r.read_by, r.actor_id,
      coalesce(k.name, l.email) as name
    from subject_reads r
    left join api_keys k on k.account_id = r.account_id and k.id = r.actor_id
    left join logins l on l.account_id = r.account_id and l.user_id = r.actor_id
    where r.account_id = ${accountId} ${subjectHmac === undefined ? sql`` : sql`and r.subject_hmac = ${subjectHmac}`}
      ${from === undefined ? sql`` : sql`and r.id >= ${firstIdAt(Math.ceil(from))}`}
      ${to === undefined ? sql`` : sql`and r.id <= ${lastIdAt(Math.floor(to))}`}
      ${before === undefined ? sql`` : sql`and r.id < ${before}`}
    order by r.id desc limit ${limit}`
}

/** Returns their number. */
export async function deleteReads(sql: Sql, before: Date): Promise<number> {
  const { count } = await sql`delete from subject_reads where id < ${firstIdAt(before.getTime())}`
  return count
}
