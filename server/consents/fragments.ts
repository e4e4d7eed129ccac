// Pieces of SQL that the queries are made of.
import type { Fragment, JSONValue, Sql } from 'postgres'
import type { State } from '../../src/evidence/chain.ts'
import { arrayOf } from '../db/array.ts'
import type { BatchLink, Entry } from './rows.ts'

/** A piece of SQL without parameters, made once for each pool: a piece that is made costs as much as a statement. */
export function constant(make: (sql: Sql) => Fragment): (sql: Sql) => Fragment {
  const made = new WeakMap<Sql, Fragment>()
  return sql => {
    const known = made.get(sql)
    if (known) return known
    const fragment = make(sql)
    made.set(sql, fragment)
    return fragment
  }
}

export const nothing = constant(sql => sql``)

/** The condition that a record is not deleted. */
export const live = constant(sql => sql`and deleted_at is null`)

const plain = constant(
  sql =>
    sql`id, site_id, consent_id, subject_id, country, region, user_agent, accepted, preferences, policy_version`,
)

/** The columns that `shown` is made of. */
export const shownColumns = constant(sql => sql`${plain(sql)}, created_at, updated_at, deleted_at`)

/**
 * A record as the API shows it (service specification section 2.1), as the text of its JSON: without its address, chain and
 * version. PostgreSQL writes it in less time than it takes to read its columns and write them anew.
 */
export const shown = constant(
  sql => sql`row_to_json((select r from (
    select ${plain(sql)},
      to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
      to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as updated_at,
      to_char(deleted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as deleted_at
  ) r))::text as shown`,
)

/** What an answer tells of a record: all, or its id alone where the client prefers that. */
export type View = 'whole' | 'minimal'

const shownId = constant(sql => sql`'{"id":"' || id || '"}' as shown`)

/** A record as an answer tells of it, as the text of its JSON. */
export function viewed(sql: Sql, view: View): Fragment {
  return view === 'minimal' ? shownId(sql) : shown(sql)
}

/** The CTE `e`: the link of the one entry that a statement writes. */
export function oneLink(sql: Sql, id: string, { at, link }: Entry) {
  return sql`e as (
      select ${id}::uuid as id, ${at}::timestamptz as at, ${link.salt}::bytea as salt,
        ${link.payloadHash}::bytea as payload_hash, ${link.hash}::bytea as hash
    )`
}

export const intoHistory = constant(
  sql => sql`insert into consent_history (
    account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by, actor_id,
    created_at, salt, payload_hash, hash)`,
)

export const intoLog = constant(sql => sql`insert into log_entries (account_id, consent_id, version, hash)`)

/**
 * The CTEs `h` and `l`: the audit entries of the records that the CTE `c` has written, which are their states after the
 * event, with their links in the CTE `e`, and their places in the log that checkpoints are made of. The account's own row is
 * joined so that a cluster writes them where the account is, and sends them nowhere else.
 */
export function insertEntries(
  sql: Sql,
  accountId: string,
  { action, actor }: Pick<Entry, 'action' | 'actor'>,
) {
  return sql`h as (
      ${intoHistory(sql)}
      select a.account_id, c.id, c.version, ${action}, c.accepted, c.preferences, c.policy_version, ${actor.kind},
        ${actor.id}::uuid, e.at, e.salt, e.payload_hash, e.hash
      from c join e on e.id = c.id join accounts a on a.account_id = ${accountId}
    ), l as (
      ${intoLog(sql)}
      select a.account_id, c.id, c.version, e.hash
      from c join e on e.id = c.id join accounts a on a.account_id = ${accountId}
    )`
}

/**
 * The CTEs `e` and `due`: the links of a batch, and those of its records that nobody else is writing; whether they are still
 * at the versions that the links were made for is left to the update. Their order and what they pass over keep two batches
 * from waiting for each other. Nothing is joined to the rows that are locked: Citus 13 cannot read the result of that.
 */
export function lockBatch(sql: Sql, accountId: string, links: readonly BatchLink[], isDue: Fragment) {
  const column = <Name extends keyof BatchLink>(name: Name) => arrayOf(links.map(link => link[name]))
  return sql`e as (
      select * from unnest(
        ${column('id')}::uuid[], ${column('version')}::integer[], ${column('at')}::timestamptz[],
        ${column('salt')}::bytea[], ${column('payloadHash')}::bytea[], ${column('hash')}::bytea[]
      ) as e (id, version, at, salt, payload_hash, hash)
    ), due as (
      select id from consents
      where account_id = ${accountId} and ${among(sql, sql`id`, links)} and ${isDue}
      order by id for update skip locked
    )`
}

/**
 * Whether an id is one of a batch. It is said wherever a batch is joined with a table: a planner that knows little of the
 * table would else go through all that the account has there, once for each record.
 */
export function among(sql: Sql, id: Fragment, records: readonly { readonly id: string }[]) {
  return sql`${id} = any (${arrayOf(records.map(record => record.id))}::uuid[])`
}

export function json(sql: Sql, { preferences }: State) {
  return sql.json(preferences as JSONValue)
}
