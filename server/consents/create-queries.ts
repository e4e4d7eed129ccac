import type { Fragment, Sql } from 'postgres'
import type { Actor } from '../../src/evidence/chain.ts'
import { arrayOf } from '../db/array.ts'
import type { NewRecord } from './create.ts'
import { constant, intoHistory, intoLog, nothing, type View, viewed } from './queries.ts'
import type { Claim, FirstAnswer, Shown } from './rows.ts'

/** A record to be written, and the claim to its Idempotency-Key. */
export interface NewRow {
  readonly record: NewRecord
  /** Whether its policy is taken from its site, and must be that site's still. */
  readonly isSitesPolicy: boolean
  readonly claim: Claim | null
}

/** What is written at once. */
export interface Batch {
  readonly rows: readonly NewRow[]
  readonly actor: Actor
  /** A use of a key before this instant no longer counts. */
  readonly freeBefore: Date
  readonly view: View
}

/**
 * Writes records, their first audit entries and the claims to their Idempotency-Keys in one statement, and resolves to
 * those that are written: a record is not whose key is taken, or whose site has another policy than the one that it was
 * taken from. Keys are claimed in one order by everybody, so that of two statements that share some the second waits for
 * the first, and never each for the other.
 */
export function insertConsents(
  sql: Sql,
  accountId: string,
  { rows, actor, freeBefore, view }: Batch,
): Promise<(Shown & { id: string })[]> {
  const hasKeys = rows.some(({ claim }) => claim)
  const site = siteOf(sql, accountId, rows)
  return sql<(Shown & { id: string })[]>`
    with ${made(sql, rows)}, ${hasKeys ? claimKeys(sql, site, freeBefore) : nothing(sql)}
    c as (
      insert into consents as c (
        account_id, id, site_id, consent_id, subject_id, country, region, user_agent, ip_network, accepted,
        preferences, policy_version, version, record_hash, chain_head, created_at, updated_at)
      select s.account_id, e.id, e.site_id, e.label, e.subject_id, e.country, e.region, e.user_agent,
        e.ip_network, e.accepted, e.preferences, e.policy_version, 1, e.record_hash, e.hash, e.at, e.at
      from e join sites s on ${site} ${hasKeys ? isClaimed(sql) : nothing(sql)}
      returning *
    ), ${firstEntries(sql, accountId, actor)}
    select id, ${viewed(sql, view)} from c`
}

/**
 * The condition that `s` is the site of a row `e`, and has the policy that the row took from it. The sites are named, for a
 * planner that knows little of the rows would else read all that the account has.
 */
function siteOf(sql: Sql, accountId: string, rows: readonly NewRow[]) {
  const ids = [...new Set(rows.map(({ record }) => record.site_id))]
  return sql`s.account_id = ${accountId} and s.id = any (${arrayOf(ids)}::uuid[]) and s.id = e.site_id
    and (e.policy_version = s.policy_version or not e.is_sites_policy)`
}

const isClaimed = constant(sql => sql`where e.key is null or e.id in (select consent_id from k)`)

/**
 * The CTEs `h` and `l`: the first audit entries of what the CTE `c` has written, and their places in the log that checkpoints
 * are made of. They are not joined to it: a planner that thinks that there are few of them would compare each with each.
 * The account's own row is, as in `insertEntries`.
 */
function firstEntries(sql: Sql, accountId: string, { kind, id }: Actor) {
  return sql`h as (
      ${intoHistory(sql)}
      select a.account_id, e.id, 1, 'created', e.accepted, e.preferences, e.policy_version, ${kind}, ${id}::uuid,
        e.at, e.salt, e.payload_hash, e.hash
      from e join accounts a on a.account_id = ${accountId} ${isWritten(sql)}
    ), l as (
      ${intoLog(sql)}
      select a.account_id, e.id, 1, e.hash
      from e join accounts a on a.account_id = ${accountId} ${isWritten(sql)}
    )`
}

/** As a value, for PostgreSQL makes a join of a condition. */
const isWritten = constant(sql => sql`where (e.id in (select id from c)) is true`)

/** The CTE `k`: the rows whose key is new, or older than it is kept. */
function claimKeys(sql: Sql, site: Fragment, freeBefore: Date) {
  return sql`k as (
      insert into idempotency_keys as i (account_id, key, body_hash, consent_id, created_at)
      select s.account_id, e.key, e.body_hash, e.id, e.at from e join sites s on ${site}
      where e.key is not null order by e.key
      on conflict (account_id, key) do update
        set body_hash = excluded.body_hash, consent_id = excluded.consent_id, created_at = excluded.created_at
        where i.created_at < ${freeBefore}
      returning consent_id
    ),`
}

/**
 * The records that some keys made, as they were then; none for a key that made none. Each is looked up by itself, which `offset
 * 0` sees to: a planner that knows little of the tables would else go through all that the account has, once for each key.
 */
export function findFirstAnswers(
  sql: Sql,
  accountId: string,
  keys: readonly string[],
  view: View,
): Promise<FirstAnswer[]> {
  return sql<FirstAnswer[]>`
    select key, body_hash, ${viewed(sql, view)} from (
      select k.key, k.body_hash, c.id, c.site_id, c.consent_id, c.subject_id, c.country, c.region, c.user_agent,
        h.accepted, h.preferences, c.policy_version, c.created_at, c.created_at as updated_at,
        null::timestamptz as deleted_at
      from (
        select key, body_hash, consent_id from idempotency_keys
        where account_id = ${accountId} and key = any (${arrayOf(keys)}::text[]) offset 0
      ) k
      cross join lateral (
        select * from consents where account_id = ${accountId} and id = k.consent_id offset 0
      ) c
      cross join lateral (
        select accepted, preferences from consent_history
        where account_id = ${accountId} and consent_id = k.consent_id and version = 1 offset 0
      ) h
    ) as first`
}

/** The CTE `e`: the rows of a batch as they were made. */
function made(sql: Sql, rows: readonly NewRow[]) {
  const column = (value: (row: NewRow) => Parameters<typeof arrayOf>[0][number]) => arrayOf(rows.map(value))
  const field = (name: Exclude<keyof NewRecord, 'preferences' | 'link'>) =>
    column(({ record }) => record[name])
  const link = (name: keyof NewRecord['link']) => column(({ record }) => record.link[name])
  return sql`e as (
      select * from unnest(
        ${field('id')}::uuid[], ${field('at')}::timestamptz[], ${field('site_id')}::uuid[],
        ${field('consent_id')}::text[], ${field('subject_id')}::text[], ${field('country')}::text[],
        ${field('region')}::text[], ${field('user_agent')}::text[], ${field('ip_network')}::cidr[],
        ${field('accepted')}::boolean[], ${column(({ record }) => JSON.stringify(record.preferences))}::jsonb[],
        ${field('policy_version')}::integer[], ${column(({ isSitesPolicy }) => isSitesPolicy)}::boolean[],
        ${field('recordHash')}::bytea[], ${link('salt')}::bytea[],
        ${link('payloadHash')}::bytea[], ${link('hash')}::bytea[],
        ${column(({ claim }) => claim?.key ?? null)}::text[],
        ${column(({ claim }) => claim?.bodyHash ?? null)}::bytea[]
      ) as e (id, at, site_id, label, subject_id, country, region, user_agent, ip_network, accepted, preferences,
        policy_version, is_sites_policy, record_hash, salt, payload_hash, hash, key, body_hash)
    )`
}
