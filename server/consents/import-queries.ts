import type { Fragment, Sql } from 'postgres'
import type { Actor } from '../../src/evidence/chain.ts'
import { staticFragment, toArrayLiteral, toColumn } from '../db/fragments.ts'
import { intoLog, type View, viewColumns, viewJson } from './queries.ts'
import type { ConsentJson, NewImport } from './rows.ts'

/**
 * Returns the inserted records. Skips those whose origin is known or whose site does not exist. `insertConsents` gives
 * the reasons for one statement and the order.
 */
export function insertImports(
  sql: Sql,
  accountId: string,
  { imports, actor, view }: { readonly imports: readonly NewImport[]; readonly actor: Actor; readonly view: View },
): Promise<(ConsentJson & { id: string })[]> {
  const sites = [...new Set(imports.map(({ identity }) => identity.site_id))]
  return sql<(ConsentJson & { id: string })[]>`
    with ${entries(sql, imports)}, claimed_origins as (
      insert into origins (account_id, origin, consent_id, body_hash)
      select s.account_id, e.origin, e.id, e.body_hash from entries e join sites s
        on s.account_id = ${accountId} and s.id = any (${toArrayLiteral(sites)}::uuid[]) and s.id = e.site_id
        and s.archived_at is null
      order by e.origin
      on conflict (account_id, origin) do nothing
      returning consent_id
    ), inserted as (
      insert into consents as c (
        account_id, id, site_id, consent_id, subject_id, country, region, user_agent, ip_network, accepted, preferences,
        policy_version, version, record_hash, chain_head, created_at, updated_at, notice_locale, origin_system, origin_id,
        origin_evidence, given_at, near_subject)
      select a.account_id, e.id, e.site_id, e.label, e.subject_id, e.country, e.region, e.user_agent, e.ip_network,
        e.accepted, e.preferences, e.policy_version, e.version, e.record_hash, e.hash, e.at, e.at, e.notice_locale,
        e.origin_system, e.origin_id, e.origin_evidence, e.given_at, e.near_subject
      from entries e join accounts a on a.account_id = ${accountId} ${whereClaimed(sql)} and e.origin is not null
      returning ${viewColumns(sql, view)}
    ), audit as (
      insert into consent_history (
        account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by, actor_id, created_at,
        salt, payload_hash, hash, given_at, file_sha256)
      select a.account_id, e.id, e.version, 'imported', e.accepted, e.preferences, e.policy_version, ${actor.kind},
        ${actor.id}::uuid, e.at, e.salt, e.payload_hash, e.hash, e.given_at, e.file_sha256
      from entries e join accounts a on a.account_id = ${accountId} ${whereClaimed(sql)}
    ), log as (
      ${intoLog(sql)}
      select a.account_id, e.id, e.version, e.hash
      from entries e join accounts a on a.account_id = ${accountId} ${whereClaimed(sql)}
    )
    select id, ${viewJson(sql, view)} from inserted`
}

const whereClaimed = staticFragment(sql => sql`where (e.id in (select consent_id from claimed_origins)) is true`)

/** Only a record's last entry fills its columns. */
function entries(sql: Sql, imports: readonly NewImport[]): Fragment {
  const rows = imports.flatMap(toRows)
  const column = (value: (row: Row) => Value) => toColumn(rows.map(value))
  const field = (name: keyof NewImport['identity']) => column(({ record }) => record?.identity[name] ?? null)
  return sql`entries as (
      select * from unnest(
        ${column(({ id }) => id)}::uuid[], ${column(({ version }) => version)}::integer[],
        ${column(({ at }) => at)}::timestamptz[], ${column(({ answer }) => answer.accepted)}::boolean[],
        ${column(({ answer }) => JSON.stringify(answer.preferences))}::jsonb[],
        ${column(({ answer }) => answer.policy_version)}::integer[], ${column(({ link }) => link.salt)}::bytea[],
        ${column(({ link }) => link.payloadHash)}::bytea[], ${column(({ link }) => link.hash)}::bytea[],
        ${column(({ answer }) => answer.given_at)}::timestamptz[],
        ${column(({ answer }) => `\\x${answer.file_sha256}`)}::bytea[],
        ${field('site_id')}::uuid[], ${field('consent_id')}::text[], ${field('subject_id')}::text[],
        ${field('country')}::text[], ${field('region')}::text[], ${field('user_agent')}::text[],
        ${field('ip_network')}::cidr[], ${column(({ record }) => record?.recordHash ?? null)}::bytea[],
        ${field('notice_locale')}::text[], ${field('origin_system')}::text[], ${field('origin_id')}::text[],
        ${field('origin_evidence')}::text[], ${column(({ record }) => record?.claim.origin ?? null)}::bytea[],
        ${column(({ record }) => record?.claim.bodyHash ?? null)}::bytea[], ${field('near_subject')}::text[]
      ) as entries (id, version, at, accepted, preferences, policy_version, salt, payload_hash, hash, given_at, file_sha256,
        site_id, label, subject_id, country, region, user_agent, ip_network, record_hash, notice_locale, origin_system,
        origin_id, origin_evidence, origin, body_hash, near_subject)
    )`
}

type Value = Parameters<typeof toColumn>[0][number]
type ImportedEntry = NewImport['entries'][number]

interface Row extends ImportedEntry {
  readonly id: string
  readonly version: number
  readonly at: Date
  readonly record: NewImport | null
}

function toRows(record: NewImport): Row[] {
  const { id, at, entries } = record
  return entries.map(({ answer, link }, index) => ({
    id,
    version: index + 1,
    at,
    answer,
    link,
    record: index === entries.length - 1 ? record : null,
  }))
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
