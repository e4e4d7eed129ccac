import type { Fragment, Sql } from 'postgres'
import type { Hold } from '../../src/contract/index.ts'
import { type Administrator, afterAccount, auditEntry, lockedAccount, target } from '../audit/entries.ts'
import { holdState } from '../audit/states.ts'
import { staticFragment, toArrayLiteral } from '../db/fragments.ts'

export interface HoldRow extends Omit<Hold, 'held_until' | 'created_at'> {
  readonly held_until: Date
  readonly created_at: Date
}

const columns = staticFragment(
  sql => sql`h.id, encode(h.subject_hmac, 'hex') as subject_hmac, h.reason, h.ticket, h.held_until, h.created_at`,
)

/** Of a row `h`, by the slower of the node's and the database's clock. */
export function stands(sql: Sql): Fragment {
  return sql`h.held_until > least(now(), ${new Date()}::timestamptz)`
}

export function listHolds(sql: Sql, accountId: string): Promise<HoldRow[]> {
  return sql<HoldRow[]>`
    select ${columns(sql)} from holds h
    where h.account_id = ${accountId} and ${stands(sql)}
    order by h.id desc`
}

export async function insertHold(
  sql: Sql,
  accountId: string,
  { id, subject_hmac, reason, ticket, held_until, created_at: at }: HoldRow,
  actor: Administrator,
): Promise<HoldRow | undefined> {
  const [row] = await sql<HoldRow[]>`
    with ${lockedAccount(sql, accountId)}, inserted as (
      insert into holds (account_id, id, subject_hmac, reason, ticket, held_until, created_at)
      select account_id, ${id}::uuid, ${Buffer.from(subject_hmac, 'hex')}::bytea, ${reason}, ${ticket},
        ${held_until}::timestamptz, ${at}::timestamptz
      from account where account_id = ${accountId}
      returning *
    ), change as (
      select ${target(sql, 'hold', sql`h.id`)} as target, null::jsonb as before, ${holdState(sql)} as after
      from inserted h
    ), ${auditEntry(sql, { accountId, actor, action: 'hold_added', at })}
    select ${columns(sql)} from inserted h`
  return row
}

export async function deleteHold(
  sql: Sql,
  { accountId, id, at }: { readonly accountId: string; readonly id: string; readonly at: Date },
  actor: Administrator,
): Promise<HoldRow | undefined> {
  const [row] = await sql<HoldRow[]>`
    with ${lockedAccount(sql, accountId)}, present as materialized (
      select * from holds where account_id = ${accountId} and id = ${id} and ${afterAccount(sql)} for update
    ), deleted as (
      delete from holds h using present p where h.account_id = ${accountId} and h.id = ${id} and p.id = h.id
      returning h.*
    ), change as (
      select ${target(sql, 'hold', sql`h.id`)} as target, ${holdState(sql)} as before, null::jsonb as after
      from deleted h
    ), ${auditEntry(sql, { accountId, actor, action: 'hold_removed', at })}
    select ${columns(sql)} from deleted h`
  return row
}

/** Of the records that have one. */
export async function findSubjects(sql: Sql, accountId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ subject_id: string }[]>`
    select distinct subject_id from consents
    where account_id = ${accountId} and id = any (${toArrayLiteral(ids)}::uuid[]) and subject_id is not null`
  return rows.map(row => row.subject_id)
}
