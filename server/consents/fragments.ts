// Pieces of SQL that the queries are made of.
import type { JSONValue, Sql } from 'postgres'
import type { State } from '../../src/evidence/chain.ts'
import type { Claim, Entry } from './rows.ts'

/** The CTE `k`: a row where the key is new, or older than it is kept. */
export function claimKey(
  sql: Sql,
  accountId: string,
  id: string,
  at: Date,
  { key, bodyHash, freeBefore }: Claim,
) {
  return sql`k as (
      insert into idempotency_keys as i (account_id, key, body_hash, consent_id, created_at)
      select ${accountId}::uuid, ${key}, ${bodyHash}::bytea, ${id}::uuid, ${at}::timestamptz from site
      on conflict (account_id, key) do update
        set body_hash = excluded.body_hash, consent_id = excluded.consent_id, created_at = excluded.created_at
        where i.created_at < ${freeBefore}
      returning consent_id
    ),`
}

/** The columns of a ConsentRow. */
export function columns(sql: Sql) {
  return sql`id, site_id, consent_id, subject_id, country, region, user_agent, ip_network, accepted, preferences,
    policy_version, version, record_hash, chain_head, created_at, updated_at, deleted_at`
}

/**
 * The CTEs `h` and `l`: the audit entry of the record that the CTE `c` has written, which is its state after the event, and
 * the entry's place in the log that checkpoints are made of.
 */
export function insertEntry(sql: Sql, { action, actor, at, link }: Entry) {
  return sql`h as (
      insert into consent_history (
        account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by, actor_id,
        created_at, salt, payload_hash, hash)
      select account_id, id, version, ${action}, accepted, preferences, policy_version, ${actor.kind},
        ${actor.id}::uuid, ${at}::timestamptz, ${link.salt}::bytea, ${link.payloadHash}::bytea, ${link.hash}::bytea
      from c
    ), l as (
      insert into log_entries (account_id, consent_id, version, hash)
      select account_id, id, version, ${link.hash}::bytea from c
    )`
}

export function json(sql: Sql, { preferences }: State) {
  return sql.json(preferences as JSONValue)
}
