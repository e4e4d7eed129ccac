import type { Fragment, Sql } from 'postgres'
import type { Actor } from '../../src/evidence/chain.ts'
import { empty, staticFragment, toArrayLiteral, toColumn } from '../db/fragments.ts'
import { intoHistory, intoLog, type View, viewColumns, viewJson } from './queries.ts'
import type { Claim, ConsentJson, FirstAnswer, NewRecord } from './rows.ts'

interface NewRow {
  readonly record: NewRecord
  readonly isSitesPolicy: boolean
  readonly claim: Claim | null
}

/**
 * Returns the inserted records. Skips those whose key was used since `freeBefore`, whose site does not exist or has
 * another policy version. One statement: the driver's transactions are not safe (db/postgres-pool/README.md). Keys are
 * in order against deadlocks. `audit` and `log` filter by a hashed set of ids, because the planner would join in nested
 * loops (500 records: 8,500 rows read instead of a million); `is true` keeps it from turning the filter into that join.
 * Without the array of sites, all sites of the account are read.
 */
export function insertConsents(
  sql: Sql,
  accountId: string,
  {
    rows,
    actor,
    freeBefore,
    view,
  }: {
    readonly rows: readonly NewRow[]
    readonly actor: Actor
    readonly freeBefore: Date
    readonly view: View
  },
): Promise<(ConsentJson & { id: string })[]> {
  const hasKeys = rows.some(({ claim }) => claim)
  const site = siteOfDraft(sql, accountId, rows)
  return sql<(ConsentJson & { id: string })[]>`
    with ${drafts(sql, rows)}, ${hasKeys ? claimedKeys(sql, site, freeBefore) : empty(sql)}
    inserted as (
      insert into consents as c (
        account_id, id, site_id, consent_id, subject_id, country, region, user_agent, ip_network, accepted,
        preferences, policy_version, version, record_hash, chain_head, created_at, updated_at, notice_locale,
        notice_entry, expires_at, gpc, near_subject)
      select s.account_id, d.id, d.site_id, d.label, d.subject_id, d.country, d.region, d.user_agent,
        d.ip_network, d.accepted, d.preferences, d.policy_version, 1, d.record_hash, d.hash, d.at, d.at,
        d.notice_locale, d.notice_entry, d.expires_at, d.gpc, d.near_subject
      from drafts d join sites s on ${site} ${hasKeys ? whereClaimed(sql) : empty(sql)}
      returning ${viewColumns(sql, view)}
    ), audit as (
      ${intoHistory(sql)}
      select a.account_id, d.id, 1, 'created', d.accepted, d.preferences, d.policy_version, ${actor.kind},
        ${actor.id}::uuid, d.at, d.salt, d.payload_hash, d.hash, d.gpc, null::boolean
      from drafts d join accounts a on a.account_id = ${accountId} ${whereInserted(sql)}
    ), log as (
      ${intoLog(sql)}
      select a.account_id, d.id, 1, d.hash
      from drafts d join accounts a on a.account_id = ${accountId} ${whereInserted(sql)}
    )
    select id, ${viewJson(sql, view)} from inserted`
}

function drafts(sql: Sql, rows: readonly NewRow[]): Fragment {
  const column = (value: (row: NewRow) => Parameters<typeof toColumn>[0][number]) => toColumn(rows.map(value))
  const field = (name: Exclude<keyof NewRecord, 'preferences' | 'link'>) => column(({ record }) => record[name] ?? null)
  const link = (name: keyof NewRecord['link']) => column(({ record }) => record.link[name])
  return sql`drafts as (
      select * from unnest(
        ${field('id')}::uuid[], ${field('at')}::timestamptz[], ${field('site_id')}::uuid[],
        ${field('consent_id')}::text[], ${field('subject_id')}::text[], ${field('country')}::text[],
        ${field('region')}::text[], ${field('user_agent')}::text[], ${field('ip_network')}::cidr[],
        ${field('accepted')}::boolean[], ${column(({ record }) => JSON.stringify(record.preferences))}::jsonb[],
        ${field('policy_version')}::integer[], ${column(({ isSitesPolicy }) => isSitesPolicy)}::boolean[],
        ${field('recordHash')}::bytea[], ${link('salt')}::bytea[],
        ${link('payloadHash')}::bytea[], ${link('hash')}::bytea[],
        ${column(({ claim }) => claim?.key ?? null)}::text[],
        ${column(({ claim }) => claim?.bodyHash ?? null)}::bytea[],
        ${field('notice_locale')}::text[], ${field('notice_entry')}::integer[], ${field('expires_at')}::timestamptz[],
        ${field('gpc')}::boolean[], ${field('near_subject')}::text[]
      ) as drafts (id, at, site_id, label, subject_id, country, region, user_agent, ip_network, accepted, preferences,
        policy_version, is_sites_policy, record_hash, salt, payload_hash, hash, key, body_hash, notice_locale,
        notice_entry, expires_at, gpc, near_subject)
    )`
}

function siteOfDraft(sql: Sql, accountId: string, rows: readonly NewRow[]): Fragment {
  const ids = [...new Set(rows.map(({ record }) => record.site_id))]
  return sql`s.account_id = ${accountId} and s.id = any (${toArrayLiteral(ids)}::uuid[]) and s.id = d.site_id
    and s.archived_at is null and (d.policy_version = s.policy_version or not d.is_sites_policy)`
}

function claimedKeys(sql: Sql, site: Fragment, freeBefore: Date): Fragment {
  return sql`claimed_keys as (
      insert into idempotency_keys as i (account_id, key, body_hash, consent_id, created_at)
      select s.account_id, d.key, d.body_hash, d.id, d.at from drafts d join sites s on ${site}
      where d.key is not null order by d.key
      on conflict (account_id, key) do update
        set body_hash = excluded.body_hash, consent_id = excluded.consent_id, created_at = excluded.created_at
        where i.created_at < ${freeBefore}
      returning consent_id
    ),`
}

const whereClaimed = staticFragment(sql => sql`where d.key is null or d.id in (select consent_id from claimed_keys)`)

const whereInserted = staticFragment(sql => sql`where (d.id in (select id from inserted)) is true`)

/**
 * Returns the first state of the records that unexpired keys created. `offset 0` prevents reading the whole table for
 * each key (50 keys, 5,000 records: 20 s instead of 2 ms).
 */
export function findFirstAnswers(
  sql: Sql,
  accountId: string,
  keys: readonly string[],
  { freeBefore, view }: { freeBefore: Date; view: View },
): Promise<FirstAnswer[]> {
  return sql<FirstAnswer[]>`
    select key, body_hash, ${viewJson(sql, view)} from (
      select k.key, k.body_hash, c.id, c.site_id, c.consent_id, c.subject_id, c.country, c.region, c.user_agent,
        h.accepted, h.preferences, c.policy_version, c.created_at, c.created_at as updated_at,
        null::timestamptz as deleted_at, c.notice_locale, c.given_at, c.origin_system, c.origin_id, c.origin_evidence, h.gpc
      from (
        select key, body_hash, consent_id, created_at from idempotency_keys
        where account_id = ${accountId} and key = any (${toArrayLiteral(keys)}::text[]) offset 0
      ) k
      cross join lateral (
        select * from consents where account_id = ${accountId} and id = k.consent_id offset 0
      ) c
      cross join lateral (
        select accepted, preferences, gpc from consent_history
        where account_id = ${accountId} and consent_id = k.consent_id and version = 1 offset 0
      ) h
      where k.created_at >= ${freeBefore}
    ) as first_answers`
}
