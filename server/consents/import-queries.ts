import type { Fragment, Sql } from 'postgres'
import type { Actor } from '../../src/evidence/chain.ts'
import { staticFragment, toArrayLiteral } from '../db/fragments.ts'
import { intoLog, type View, viewJson } from './queries.ts'
import type { ConsentJson, NewImport } from './rows.ts'

/**
 * Inserts imported records with their origins, their entries and those of the log, and returns those inserted. Skips records
 * whose origin is known, or whose site does not exist.
 *
 * One statement, and origins in order, for the reasons of `insertConsents`.
 */
export function insertImports(
  sql: Sql,
  accountId: string,
  { imports, actor, view }: { readonly imports: readonly NewImport[]; readonly actor: Actor; readonly view: View },
): Promise<(ConsentJson & { id: string })[]> {
  const sites = [...new Set(imports.map(({ identity }) => identity.site_id))]
  return sql<(ConsentJson & { id: string })[]>`
    with ${drafts(sql, imports)}, ${entries(sql, imports)}, claimed_origins as (
      insert into origins (account_id, origin, consent_id, body_hash)
      select s.account_id, d.origin, d.id, d.body_hash from drafts d join sites s
        on s.account_id = ${accountId} and s.id = any (${toArrayLiteral(sites)}::uuid[]) and s.id = d.site_id
      order by d.origin
      on conflict (account_id, origin) do nothing
      returning consent_id
    ), inserted as (
      insert into consents as c (
        account_id, id, site_id, consent_id, subject_id, country, region, user_agent, ip_network, accepted, preferences,
        policy_version, version, record_hash, chain_head, created_at, updated_at, notice_locale, origin_system, origin_id,
        origin_evidence, given_at)
      select a.account_id, d.id, d.site_id, d.label, d.subject_id, d.country, d.region, d.user_agent, d.ip_network,
        d.accepted, d.preferences, d.policy_version, d.version, d.record_hash, d.hash, d.at, d.at, d.notice_locale,
        d.origin_system, d.origin_id, d.origin_evidence, d.given_at
      from drafts d join accounts a on a.account_id = ${accountId} ${whereClaimed(sql)}
      returning *
    ), audit as (
      insert into consent_history (
        account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by, actor_id, created_at,
        salt, payload_hash, hash, given_at, file_sha256)
      select a.account_id, d.id, d.version, 'imported', d.accepted, d.preferences, d.policy_version, ${actor.kind},
        ${actor.id}::uuid, d.at, d.salt, d.payload_hash, d.hash, d.given_at, d.file_sha256
      from entries d join accounts a on a.account_id = ${accountId} ${whereClaimed(sql)}
    ), log as (
      ${intoLog(sql)}
      select a.account_id, d.id, d.version, d.hash
      from entries d join accounts a on a.account_id = ${accountId} ${whereClaimed(sql)}
    )
    select id, ${viewJson(sql, view)} from inserted`
}

const whereClaimed = staticFragment(sql => sql`where (d.id in (select consent_id from claimed_origins)) is true`)

/** The records in their last imported state. */
function drafts(sql: Sql, imports: readonly NewImport[]): Fragment {
  const column = (value: (one: NewImport) => Value) => toArrayLiteral(imports.map(value))
  const field = (name: keyof NewImport['identity']) => column(({ identity }) => identity[name])
  const last = stateColumns(imports.map(({ entries }) => entries[entries.length - 1] as ImportedEntry))
  return sql`drafts as (
      select * from unnest(
        ${column(({ id }) => id)}::uuid[], ${column(({ at }) => at)}::timestamptz[], ${field('site_id')}::uuid[],
        ${field('consent_id')}::text[], ${field('subject_id')}::text[], ${field('country')}::text[],
        ${field('region')}::text[], ${field('user_agent')}::text[], ${field('ip_network')}::cidr[],
        ${last.accepted}::boolean[], ${last.preferences}::jsonb[],
        ${last.policyVersion}::integer[], ${column(({ entries }) => entries.length)}::integer[],
        ${column(({ recordHash }) => recordHash)}::bytea[], ${last.hash}::bytea[],
        ${field('notice_locale')}::text[], ${field('origin_system')}::text[], ${field('origin_id')}::text[],
        ${field('origin_evidence')}::text[], ${last.givenAt}::timestamptz[],
        ${column(({ claim }) => claim.origin)}::bytea[], ${column(({ claim }) => claim.bodyHash)}::bytea[]
      ) as drafts (id, at, site_id, label, subject_id, country, region, user_agent, ip_network, accepted, preferences,
        policy_version, version, record_hash, hash, notice_locale, origin_system, origin_id, origin_evidence, given_at,
        origin, body_hash)
    )`
}

type Value = Parameters<typeof toArrayLiteral>[0][number]
type ImportedEntry = NewImport['entries'][number]

function stateColumns(entries: readonly ImportedEntry[]) {
  return {
    accepted: toArrayLiteral(entries.map(({ answer }) => answer.accepted)),
    preferences: toArrayLiteral(entries.map(({ answer }) => JSON.stringify(answer.preferences))),
    policyVersion: toArrayLiteral(entries.map(({ answer }) => answer.policy_version)),
    hash: toArrayLiteral(entries.map(({ link }) => link.hash)),
    givenAt: toArrayLiteral(entries.map(({ answer }) => answer.given_at)),
  }
}

function entries(sql: Sql, imports: readonly NewImport[]): Fragment {
  const all = imports.flatMap(({ id, at, entries }) => entries.map((entry, index) => ({ id, at, index, ...entry })))
  const column = (value: (one: (typeof all)[number]) => Value) => toArrayLiteral(all.map(value))
  const state = stateColumns(all)
  return sql`entries as (
      select * from unnest(
        ${column(({ id }) => id)}::uuid[], ${column(({ index }) => index + 1)}::integer[],
        ${column(({ at }) => at)}::timestamptz[], ${state.accepted}::boolean[], ${state.preferences}::jsonb[],
        ${state.policyVersion}::integer[], ${column(({ link }) => link.salt)}::bytea[],
        ${column(({ link }) => link.payloadHash)}::bytea[], ${state.hash}::bytea[],
        ${state.givenAt}::timestamptz[], ${column(({ answer }) => `\\x${answer.file_sha256}`)}::bytea[]
      ) as entries (id, version, at, accepted, preferences, policy_version, salt, payload_hash, hash, given_at, file_sha256)
    )`
}

/** The record that an origin has made. */
export interface KnownImport {
  readonly origin: Buffer
  readonly consent_id: string
  /** Null after a purge, because it is a hash of personal data. */
  readonly body_hash: Buffer | null
  /** The record as it was imported; null if it is not there, which nothing in the service does. */
  readonly json: string | null
}

/** Returns what these origins have made, deleted or not. `offset 0` as in `findFirstAnswers`. */
export function findImports(
  sql: Sql,
  accountId: string,
  origins: readonly Buffer[],
  view: View,
): Promise<KnownImport[]> {
  return sql<KnownImport[]>`
    select origin, made as consent_id, body_hash, case when id is not null then json end as json from (
      select origin, made, body_hash, id, ${viewJson(sql, view)} from (
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
}
