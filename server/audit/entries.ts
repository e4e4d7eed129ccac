// The administrators' log: a chain of entries in each account, which are leaves of the account's log. The statement of
// a change writes its entry, and locks the account's row: concurrent changes become entries N and N + 1, because READ
// COMMITTED re-reads locked rows. A statement must also lock the rows that it shows as `before`, after the account. The
// lock permits inserts that refer to the account.

import type { Fragment, Sql } from 'postgres'
import type { AuditAction, AuditTarget } from '../../src/contract/index.ts'
import type { Actor } from '../../src/evidence/chain.ts'
import { empty, staticFragment } from '../db/fragments.ts'

export type Administrator =
  | { readonly kind: 'user' | 'api_key'; readonly id: string }
  | { readonly kind: 'admin' | 'system'; readonly id: null }

export const machine: Administrator = { kind: 'admin', id: null }

/** @throws Error for a site token */
export function administrator(actor: Actor): Administrator {
  const { kind, id } = actor
  if (kind === 'site_token') throw new Error('a site token changes no settings')
  return kind === 'system' ? { kind, id: null } : { kind, id }
}

export interface AuditEvent {
  readonly accountId: string
  readonly actor: Administrator
  readonly action: AuditAction
  readonly at: Date
}

/** CTE `account`: the account's row, locked until the end of the transaction. */
export function lockedAccount(sql: Sql, accountId: string): Fragment {
  return sql`account as materialized (
      select * from accounts where account_id = ${accountId} for no key update)`
}

/** Condition that rows are locked after the account's. Not a join: Citus 13 cannot read rows that one locks. */
export const afterAccount = staticFragment(sql => sql`exists (select 1 from account)`)

export function target(sql: Sql, kind: AuditTarget['kind'], id: string | Fragment): Fragment {
  return sql`jsonb_build_object('kind', ${kind}::text, 'id', ${id}::uuid)`
}

/** The expression of the index `account_entries_by_target`, for a row `e`. */
export const targetId = staticFragment(sql => sql`substring(e.document from '.*"target": [{]"id": "([0-9a-f-]{36})"')`)

/**
 * CTEs `document` and `entry` of a change. The caller provides `account` (`lockedAccount`) and `change`: at most one
 * row (target, before, after) with states as JSON or null. The entry has the members that differ; if none does, there
 * is no entry. `entry` returns the version.
 */
export function insertedEntry(sql: Sql, { accountId, actor, action, at }: AuditEvent): Fragment {
  const time = at.toISOString()
  return sql`document as (
      select *, sha256(convert_to(text, 'UTF8')) as hash from (select a.account_id, a.entries + 1 as version, jsonb_build_object(
        'type', 'account_entry', 'version', a.entries + 1, 'account_id', a.account_id,
        'previous', encode(a.entries_head, 'hex'), 'at', ${time}::text,
        'actor', jsonb_build_object('kind', ${actor.kind}::text, 'id', ${actor.id}::text), 'action', ${action}::text,
        'target', c.target, 'before', ${difference(sql, sql`c.before`, sql`c.after`)},
        'after', ${difference(sql, sql`c.after`, sql`c.before`)},
        'nonce', replace(gen_random_uuid()::text, '-', ''))::text as text
      from account a cross join change c where c.before is distinct from c.after) as written
    ), entry as (
      insert into account_entries (account_id, version, document, created_at)
      select account_id, version, text, ${time}::timestamptz from document where account_id = ${accountId}
      returning account_id, version
    ), entry_leaf as (
      insert into log_entries (account_id, consent_id, version, hash)
      select account_id, account_id, version, hash from document where account_id = ${accountId}
    )`
}

/** All if `other` is null. */
function difference(sql: Sql, one: Fragment, other: Fragment): Fragment {
  return sql`case when ${other} is null then ${one} when ${one} is null then null else (
      select coalesce(jsonb_object_agg(m.key, m.value), '{}') from jsonb_each(${one}) as m
      where ${other}->m.key is distinct from m.value) end`
}

/**
 * CTEs of `insertedEntry`, and the update of number and hash in the account's row. `set` adds columns to it, each
 * followed by a comma.
 */
export function auditEntry(sql: Sql, event: AuditEvent, set: Fragment = empty(sql)): Fragment {
  return sql`${insertedEntry(sql, event)}, counted as (
      update accounts set ${set} entries = document.version, entries_head = document.hash
      from document where accounts.account_id = ${event.accountId} and document.account_id = accounts.account_id
    )`
}
