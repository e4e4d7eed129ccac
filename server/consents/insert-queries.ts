import type { Fragment, Sql } from 'postgres'
import type { Actor } from '../../src/evidence/chain.ts'
import { empty, staticFragment, toArrayLiteral, toColumn } from '../db/fragments.ts'
import { intoLog, type Parts, type View, viewColumns, viewParts } from './queries.ts'
import { toRecord, withJson } from './record-text.ts'
import type { Claim, ConsentJson, FirstAnswer, ImportedAnswer, NewImport, NewRecord } from './rows.ts'

interface NewRow {
  readonly record: NewRecord
  readonly isSitesPolicy: boolean
  readonly claim: Claim | null
}

interface Written {
  readonly actor: Actor
  readonly view: View
}

type Inserted = ConsentJson & { id: string }

/** Skips records whose key was used since `freeBefore`, whose site does not exist or has another policy version. */
export function insertConsents(
  sql: Sql,
  accountId: string,
  { rows, freeBefore, ...written }: Written & { readonly rows: readonly NewRow[]; readonly freeBefore: Date },
): Promise<Inserted[]> {
  const hasKeys = rows.some(({ claim }) => claim)
  const entries = rows.map(({ record, isSitesPolicy, claim }) => {
    const { id, at, link } = record
    return { id, version: 1, at, answer: record, link, record: { ...record, isSitesPolicy, claim } }
  })
  const claimed = (site: Fragment) => sql`claimed as (
      insert into idempotency_keys as i (account_id, key, body_hash, consent_id, created_at)
      select s.account_id, e.key, e.body_hash, e.id, e.at from entries e join sites s on ${site}
      where e.key is not null order by e.key
      on conflict (account_id, key) do update
        set body_hash = excluded.body_hash, consent_id = excluded.consent_id, created_at = excluded.created_at
        where i.created_at < ${freeBefore}
      returning consent_id
    ),`
  return insert(sql, accountId, entries, { ...written, action: 'created', claimed: hasKeys ? claimed : null })
}

/** Skips records whose origin is known or whose site does not exist. */
export function insertImports(
  sql: Sql,
  accountId: string,
  { imports, ...written }: Written & { readonly imports: readonly NewImport[] },
): Promise<Inserted[]> {
  const entries = imports.flatMap(({ id, at, identity, recordHash, claim, entries }) =>
    entries.map(({ answer, link }, index) => {
      const isLast = index === entries.length - 1
      return { id, version: index + 1, at, answer, link, record: isLast ? { ...identity, recordHash, claim } : null }
    }),
  )
  const claimed = (site: Fragment) => sql`claimed as (
      insert into origins (account_id, origin, consent_id, body_hash)
      select s.account_id, e.origin, e.id, e.body_hash from entries e join sites s on ${site}
      order by e.origin
      on conflict (account_id, origin) do nothing
      returning consent_id
    ),`
  return insert(sql, accountId, entries, { ...written, action: 'imported', claimed })
}

interface NewEntry {
  readonly id: string
  readonly version: number
  readonly at: Date
  readonly answer: NewRecord | ImportedAnswer
  readonly link: NewRecord['link']
  /** With its last entry. */
  readonly record:
    | (Partial<Omit<NewRecord, 'link' | 'at' | 'id' | 'circumstances'>> & {
        readonly site_id: string
        readonly isSitesPolicy?: boolean
        readonly claim: { readonly key?: string; readonly origin?: Buffer; readonly bodyHash: Buffer } | null
      })
    | null
}

/**
 * Returns the inserted records. One statement: the driver's transactions are not safe (db/postgres-pool/README.md). Keys
 * and origins are in order against deadlocks. `audit` and `log` filter by a hashed set of ids, because the planner would
 * join in nested loops (500 records: 8,500 rows read instead of a million); `is true` keeps it from turning the filter
 * into that join. Without the array of sites, all sites of the account are read.
 */
async function insert(
  sql: Sql,
  accountId: string,
  entries: readonly NewEntry[],
  {
    action,
    actor,
    claimed,
    view,
  }: Written & {
    readonly action: 'created' | 'imported'
    readonly claimed: ((site: Fragment) => Fragment) | null
  },
): Promise<Inserted[]> {
  const sites = [...new Set(entries.flatMap(({ record }) => record?.site_id ?? []))]
  const site = sql`s.account_id = ${accountId} and s.id = any (${toArrayLiteral(sites)}::uuid[]) and s.id = e.site_id
    and s.archived_at is null and (e.policy_version = s.policy_version or e.is_sites_policy is not true)`
  const rows = await sql<Parts<Inserted>[]>`
    with ${entriesOf(sql, entries)}, ${claimed?.(site) ?? empty(sql)}
    inserted as (
      insert into consents as c (
        account_id, id, site_id, consent_id, subject_id, country, region, user_agent, ip_network, accepted,
        preferences, policy_version, version, record_hash, chain_head, created_at, updated_at, notice_locale,
        notice_entry, expires_at, gpc, near_subject, given_at, origin_system, origin_id, origin_evidence)
      select s.account_id, e.id, e.site_id, e.label, e.subject_id, e.country, e.region, e.user_agent,
        e.ip_network, e.accepted, e.preferences, e.policy_version, e.version, e.record_hash, e.hash, e.at, e.at,
        e.notice_locale, e.notice_entry, e.expires_at, e.gpc, e.near_subject, e.given_at, e.origin_system, e.origin_id,
        e.origin_evidence
      from entries e join sites s on ${site} ${claimed ? whereClaimed(sql) : empty(sql)}
      returning ${viewColumns(sql, view)}
    ), audit as (
      insert into consent_history (
        account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by, actor_id,
        created_at, salt, payload_hash, hash, gpc, given_at, file_sha256, circumstances)
      select a.account_id, e.id, e.version, ${action}, e.accepted, e.preferences, e.policy_version, ${actor.kind},
        ${actor.id}::uuid, e.at, e.salt, e.payload_hash, e.hash, e.gpc, e.given_at, e.file_sha256,
        e.circumstances
      from entries e join accounts a on a.account_id = ${accountId} ${whereInserted(sql)}
    ), log as (
      ${intoLog(sql)}
      select a.account_id, e.id, e.version, e.hash
      from entries e join accounts a on a.account_id = ${accountId} ${whereInserted(sql)}
    )
    select id, ${viewParts(sql, view)} from inserted`
  return rows.map(withJson)
}

const whereClaimed = staticFragment(sql => sql`where e.body_hash is null or e.id in (select consent_id from claimed)`)

const whereInserted = staticFragment(sql => sql`where (e.id in (select id from inserted)) is true`)

function entriesOf(sql: Sql, entries: readonly NewEntry[]): Fragment {
  type Value = Parameters<typeof toColumn>[0][number]
  const column = (read: (entry: NewEntry) => Value | undefined) => toColumn(entries.map(entry => read(entry) ?? null))
  const field = (name: Exclude<keyof NonNullable<NewEntry['record']>, 'claim' | 'preferences'>) =>
    column(({ record }) => record?.[name])
  const claim = (name: 'key' | 'origin' | 'bodyHash') => column(({ record }) => record?.claim?.[name])
  const link = (name: keyof NewEntry['link']) => column(entry => entry.link[name])
  const fact = (name: 'given_at' | 'file_sha256') => (entry: NewEntry) =>
    (entry.answer as Partial<ImportedAnswer>)[name]
  return sql`entries as (
      select * from unnest(
        ${column(({ id }) => id)}::uuid[], ${column(({ version }) => version)}::integer[],
        ${column(({ at }) => at)}::timestamptz[], ${column(({ answer }) => answer.accepted)}::boolean[],
        ${column(({ answer }) => JSON.stringify(answer.preferences))}::jsonb[],
        ${column(({ answer }) => answer.policy_version)}::integer[], ${link('salt')}::bytea[],
        ${link('payloadHash')}::bytea[], ${link('hash')}::bytea[], ${column(fact('given_at'))}::timestamptz[],
        ${column(entry => toBytea(fact('file_sha256')(entry)))}::bytea[],
        ${column(({ answer }) => answer.circumstances && JSON.stringify(answer.circumstances))}::jsonb[],
        ${field('site_id')}::uuid[], ${field('isSitesPolicy')}::boolean[], ${field('consent_id')}::text[],
        ${field('subject_id')}::text[], ${field('near_subject')}::text[], ${field('country')}::text[],
        ${field('region')}::text[], ${field('user_agent')}::text[], ${field('ip_network')}::cidr[],
        ${field('recordHash')}::bytea[], ${field('notice_locale')}::text[], ${field('notice_entry')}::integer[],
        ${field('expires_at')}::timestamptz[], ${field('gpc')}::boolean[], ${field('origin_system')}::text[],
        ${field('origin_id')}::text[], ${field('origin_evidence')}::text[], ${claim('key')}::text[],
        ${claim('origin')}::bytea[], ${claim('bodyHash')}::bytea[]
      ) as entries (id, version, at, accepted, preferences, policy_version, salt, payload_hash, hash, given_at, file_sha256,
        circumstances, site_id, is_sites_policy, label, subject_id, near_subject, country, region, user_agent, ip_network, record_hash,
        notice_locale, notice_entry, expires_at, gpc, origin_system, origin_id, origin_evidence, key, origin, body_hash)
    )`
}

function toBytea(hex: string | undefined): string | undefined {
  return hex && `\\x${hex}`
}

/**
 * Returns the first state of the records that unexpired keys created. `offset 0` prevents reading the whole table for
 * each key (50 keys, 5,000 records: 20 s instead of 2 ms).
 */
export async function findFirstAnswers(
  sql: Sql,
  accountId: string,
  keys: readonly string[],
  { freeBefore, view }: { freeBefore: Date; view: View },
): Promise<FirstAnswer[]> {
  const rows = await sql<Parts<FirstAnswer>[]>`
    select key, body_hash, ${viewParts(sql, view)} from (
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
  return rows.map(withJson)
}

export interface KnownImport {
  readonly origin: Buffer
  readonly consent_id: string
  /** Null after a purge. */
  readonly body_hash: Buffer | null
  /** Null if it was removed outside the service. */
  readonly json: string | null
}

/** Includes deleted records. `offset 0` as in `findFirstAnswers`. */
export async function findImports(
  sql: Sql,
  accountId: string,
  origins: readonly Buffer[],
  view: View,
): Promise<KnownImport[]> {
  const rows = await sql<(Omit<KnownImport, 'json'> & { parts: string | null })[]>`
    select origin, made as consent_id, body_hash, case when id is not null then parts end as parts from (
      select origin, made, body_hash, id, ${viewParts(sql, view)} from (
        select o.origin, o.consent_id as made, o.body_hash, c.id, c.site_id, c.consent_id, c.subject_id, c.country, c.region, c.user_agent,
          h.accepted, h.preferences, h.policy_version, c.created_at, c.created_at as updated_at,
          null::timestamptz as deleted_at, c.notice_locale, h.given_at, c.origin_system, c.origin_id, c.origin_evidence,
          null::boolean as gpc
        from (
          select origin, body_hash, consent_id from origins
          where account_id = ${accountId} and origin = any (${toArrayLiteral(origins)}::bytea[]) offset 0
        ) o
        left join lateral (
          select * from consents where account_id = ${accountId} and id = o.consent_id offset 0
        ) c on true
        left join lateral (
          select accepted, preferences, policy_version, given_at from consent_history
          where account_id = ${accountId} and consent_id = o.consent_id and action = 'imported'
          order by version desc limit 1
        ) h on true
      ) as first_answers
    ) as known`
  return rows.map(({ parts, ...row }) => ({ ...row, json: parts === null ? null : toRecord(parts) }))
}
