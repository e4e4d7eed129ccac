// The administrators' log: a chain of entries in each account that are leaves of the account's log. An entry is written in the
// statement of the change, so neither is without the other.
//
// Two changes of an account at once become entries N and N + 1. Each statement reads the account's row with a lock, and so the
// second waits for the first to commit. Its snapshot is from before, but READ COMMITTED reads a row that it locks again, as the
// first has left it: number and hash of the last entry are the newest. This holds for locked rows alone, so a statement has to
// lock what it shows as `before` too, after the account. The lock lets rows be inserted that refer to the account.

import type { Fragment, Sql } from 'postgres'
import type { AuditAction, AuditTarget } from '../../src/contract/index.ts'
import type { Actor } from '../../src/evidence/chain.ts'
import { empty, staticFragment } from '../db/fragments.ts'

/** The author of a change. */
export type Administrator =
  | { readonly kind: 'user' | 'api_key'; readonly id: string }
  | { readonly kind: 'admin' | 'system'; readonly id: null }

/** A command on the machine of the server. */
export const machine: Administrator = { kind: 'admin', id: null }

/** @throws Error for the caller of a banner, who administers nothing */
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

/** The CTE `account`: the account's row, locked until the end of the transaction. No row for an unknown account. */
export function lockedAccount(sql: Sql, accountId: string): Fragment {
  return sql`account as materialized (
      select * from accounts where account_id = ${accountId} for no key update)`
}

/** A target as the CTE `change` has it. */
export function target(sql: Sql, kind: AuditTarget['kind'], id: string | Fragment): Fragment {
  return sql`jsonb_build_object('kind', ${kind}::text, 'id', ${id}::uuid)`
}

/**
 * The CTEs `document` and `entry` of a change. The caller has the CTEs `account` (`lockedAccount`) and `change`: at most one row
 * (target, before, after), states as JSON or null, of which the entry has the members that differ. Without a difference there is no entry.
 * `entry` returns the version.
 */
export function insertedEntry(sql: Sql, { accountId, actor, action, at }: AuditEvent): Fragment {
  const time = at.toISOString()
  return sql`document as (
      select a.account_id, a.entries + 1 as version, jsonb_build_object(
        'type', 'account_entry', 'version', a.entries + 1, 'account_id', a.account_id,
        'previous', encode(a.entries_head, 'hex'), 'at', ${time}::text,
        'actor', jsonb_build_object('kind', ${actor.kind}::text, 'id', ${actor.id}::text), 'action', ${action}::text,
        'target', c.target, 'before', ${difference(sql, sql`c.before`, sql`c.after`)},
        'after', ${difference(sql, sql`c.after`, sql`c.before`)},
        'nonce', replace(gen_random_uuid()::text, '-', ''))::text as text
      from account a cross join change c where c.before is distinct from c.after
    ), entry as (
      insert into account_entries (account_id, version, document, created_at)
      select account_id, version, text, ${time}::timestamptz from document where account_id = ${accountId}
      returning account_id, version
    ), entry_leaf as (
      insert into log_entries (account_id, consent_id, version, hash)
      select account_id, account_id, version, ${hash(sql)} from document where account_id = ${accountId}
    )`
}

/** The SHA-256 of a row of `document`. */
export const hash = staticFragment(sql => sql`sha256(convert_to(document.text, 'UTF8'))`)

/** The members of `one` that `other` has otherwise; all if `other` is null. */
function difference(sql: Sql, one: Fragment, other: Fragment): Fragment {
  return sql`case when ${other} is null then ${one} when ${one} is null then null else (
      select coalesce(jsonb_object_agg(m.key, m.value), '{}') from jsonb_each(${one}) as m
      where ${other}->m.key is distinct from m.value) end`
}

/**
 * The CTEs of a change's entry: those of `insertedEntry`, and its number and hash in the account's row. `set` has further columns of
 * that row, each with a comma behind it: a statement can update a row once.
 */
export function auditEntry(sql: Sql, event: AuditEvent, set: Fragment = empty(sql)): Fragment {
  return sql`${insertedEntry(sql, event)}, counted as (
      update accounts set ${set} entries = document.version, entries_head = ${hash(sql)}
      from document where accounts.account_id = ${event.accountId} and document.account_id = accounts.account_id
    )`
}
