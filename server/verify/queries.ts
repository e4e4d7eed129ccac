import type { Sql } from 'postgres'
import type { Site } from '../../src/contract/index.ts'
import type { FactColumns, Identity, Sealed, State } from '../../src/evidence/chain.ts'
import { toArrayLiteral } from '../db/fragments.ts'
import { type CheckpointRow, checkpointColumns, type LeafRow, withTime } from '../evidence/queries.ts'

export interface StoredRecord extends Identity, State {
  readonly id: string
  /** Null if the account does not have the site. */
  readonly site: string | null
  /** Of the site. */
  readonly sealed_proof: Site['sealed_proof']
  readonly version: number
  readonly record_hash: Buffer
  readonly chain_head: Buffer
  readonly created_at: Date
  readonly updated_at: Date
  readonly deleted_at: Date | null
  readonly purged_at: Date | null
  readonly notice_locale: string | null
  readonly notice_entry: number | null
  readonly expires_at: Date | null
  readonly origin_system: string | null
  readonly origin_id: string | null
  readonly origin_evidence: string | null
  readonly given_at: Date | null
  readonly gpc: boolean | null
  readonly origin: Buffer | null
  readonly has_body: boolean
}

/** As text, because PostgreSQL's numbers may have more digits than JavaScript reads. */
type AsText<Row> = Omit<Row, 'preferences'> & { readonly preferences: string | null }

/** Columns are null if missing, even those with `not null`. */
export interface VersionRow extends AsText<State>, FactColumns {
  readonly record_id: string | null
  readonly version: number | null
  readonly action: string | null
  readonly changed_by: string | null
  readonly actor_id: string | null
  readonly created_at: Date | null
  readonly salt: Buffer | null
  readonly payload_hash: Buffer | null
  readonly sealed: Sealed | null
  readonly hash: Buffer | null
  readonly logged: Buffer | null
  /** Null until it is in the log. */
  readonly leaf_index: number | null
  /** In the first row of the record; null in the others. */
  readonly record: RecordRow | null
}

export type RecordRow = AsText<Omit<StoredRecord, 'chain_head'>> & { readonly chain_head: Buffer | null }

/** Returns the next account, or `only`. Searches all tables: records of a missing account are forged. */
export async function findNextAccount(
  sql: Sql,
  after: string | undefined,
  only: string | undefined,
): Promise<string | undefined> {
  const next = after === undefined ? sql`` : sql`where account_id > ${after}`
  const above = only === undefined ? next : sql`where account_id = ${only}`
  const [row] = await sql<{ account_id: string }[]>`
    select account_id from (
      (select account_id from accounts ${above} order by account_id limit 1)
      union all (select account_id from consents ${above} order by account_id limit 1)
      union all (select account_id from consent_history ${above} order by account_id limit 1)
      union all (select account_id from log_entries ${above} order by account_id limit 1)
      union all (select account_id from checkpoints ${above} order by account_id limit 1)
      union all (select account_id from account_entries ${above} order by account_id limit 1)
      union all (select account_id from timestamp_tokens ${above} order by account_id limit 1)
    ) as first order by account_id limit 1`
  return row?.account_id
}

export interface Position {
  readonly id: string
  readonly version: number
}

export interface Range {
  readonly after?: Position | null
  /** Id of the last record; null for all. */
  readonly upTo?: string | null
  readonly ids?: readonly string[]
  readonly keepsAnswers?: boolean
}

/** Returns the position at which one of the three tables has `size` rows after `after`, or null. */
export async function findPageEnd(sql: Sql, accountId: string, range: Range, size: number): Promise<Position | null> {
  const entries = (table: string) => sql`(
    select consent_id as id, version from ${sql(table)}
    where ${within(sql, accountId, range, null)} and version is not null
    order by consent_id, version offset ${size} limit 1)`
  const [end] = await sql<Position[]>`
    select id, version from (
      (select id, 0 as version from consents where ${recordsWithin(sql, accountId, range, null)}
        order by id offset ${size} limit 1)
      union all ${entries('consent_history')} union all ${entries('log_entries')}
    ) as ends where id is not null order by id, version limit 1`
  return end ?? null
}

function recordsWithin(sql: Sql, accountId: string, { after, upTo, ids }: Range, end: Position | null) {
  return sql`account_id = ${accountId}
    ${after ? sql`and id >= ${after.id}` : sql``}
    ${end ? sql`and id <= ${end.id}` : sql``}
    ${upTo ? sql`and id <= ${upTo}` : sql``}
    ${ids ? sql`and id = any (${toArrayLiteral(ids)}::uuid[])` : sql``}`
}

function within(sql: Sql, accountId: string, { after, upTo, ids }: Range, end: Position | null) {
  return sql`account_id = ${accountId}
    ${after ? sql`and (consent_id, version) > (${after.id}::uuid, ${after.version}::integer)` : sql``}
    ${end ? sql`and (consent_id, version) <= (${end.id}::uuid, ${end.version}::integer)` : sql``}
    ${upTo ? sql`and consent_id <= ${upTo}` : sql``}
    ${ids ? sql`and consent_id = any (${toArrayLiteral(ids)}::uuid[])` : sql``}`
}

/**
 * Returns a row per version, with null for a missing part, and the record in its first row. One statement, so that a
 * page is consistent. `offset 0` as in `findFirstAnswers`.
 */
export async function listVersions(
  sql: Sql,
  accountId: string,
  range: Range,
  end: Position | null,
): Promise<VersionRow[]> {
  const entries = within(sql, accountId, range, end)
  const rows = await sql`
    with records as (select * from consents where ${recordsWithin(sql, accountId, range, end)}),
      history as (select * from consent_history where ${entries}),
      log as (select consent_id, version, hash, leaf_index from log_entries where ${entries} and consent_id <> ${accountId}),
      versions as (
        select coalesce(h.consent_id, l.consent_id) as consent_id, coalesce(h.version, l.version) as version,
          h.action, h.accepted, h.preferences::text as preferences, h.policy_version, h.changed_by, h.actor_id, h.created_at, h.salt,
          h.payload_hash, h.hash, h.given_at, h.file_sha256, h.gpc, h.circumstances, h.erased, h.sealed, l.hash as logged,
          l.leaf_index::float8 as leaf_index,
          row_number() over (
            partition by coalesce(h.consent_id, l.consent_id) order by coalesce(h.version, l.version)) as nth
        from history h full join log l on l.consent_id = h.consent_id and l.version = h.version)
    select coalesce(r.id, v.consent_id), v.*, r.id, r.preferences::text, s.id, s.sealed_proof, o.origin,
      o.body_hash is not null ${Object.keys(ownColumns).map(name => sql`, r.${sql(name)}`)}
    from records r full join versions v on v.consent_id = r.id and v.nth = 1
      left join sites s on s.account_id = ${accountId} and s.id = r.site_id
      left join lateral (
        select origin, body_hash from origins where account_id = ${accountId} and consent_id = r.id offset 0
      ) o on true
    order by 1, v.version`.values()
  return rows.map(values => {
    const row = toObject(versionColumns, values, 0)
    row['record'] = row['record'] === null ? null : toObject(recordColumns, values, versionWidth)
    return row as unknown as VersionRow
  })
}

/** In the order of `versions` in `listVersions`. */
const versionColumns = {
  ...{ record_id: null, consent_id: null, version: null, action: null, accepted: null, preferences: null },
  ...{ policy_version: null, changed_by: null, actor_id: null, created_at: null, salt: null, payload_hash: null },
  ...{ hash: null, given_at: null, file_sha256: null, gpc: null, circumstances: null, erased: null, sealed: null },
  ...{ logged: null, leaf_index: null, nth: null, record: null },
}

const versionWidth = Object.keys(versionColumns).length

/** Of `consents`. */
const ownColumns = {
  ...{ id: null, site_id: null, consent_id: null, subject_id: null, country: null, region: null, user_agent: null },
  ...{ ip_network: null, accepted: null, policy_version: null, version: null, record_hash: null, chain_head: null },
  ...{ created_at: null, updated_at: null, deleted_at: null, purged_at: null, notice_locale: null },
  ...{ notice_entry: null, expires_at: null, given_at: null, gpc: null, origin_system: null, origin_id: null },
  ...{ origin_evidence: null },
}

const recordColumns = { preferences: null, site: null, sealed_proof: null, origin: null, has_body: null, ...ownColumns }

/** Copies the shape, because an object that grows member by member takes five times the memory. */
function toObject(shape: object, values: readonly unknown[], from: number): Record<string, unknown> {
  const object: Record<string, unknown> = { ...shape }
  let index = from
  for (const name in shape) {
    object[name] = values[index]
    index += 1
  }
  return object
}

export interface LooseOrigins {
  readonly loose: readonly string[]
  readonly last: string | null
}

/**
 * Returns which of the next origins lead to missing records, and the position after them; null at the end. Without
 * `offset 0`, 12,000 origins take 20 s instead of 50 ms.
 */
export function findLooseOrigins(sql: Sql, accountId: string, after: string, limit: number): Promise<LooseOrigins[]> {
  return sql<LooseOrigins[]>`
    select coalesce(json_agg(consent_id order by consent_id) filter (where id is null), '[]') as loose,
      case when count(*) = ${limit} then max(consent_id::text) end as last
    from (
      select o.consent_id, c.id
      from (
        select consent_id from origins where account_id = ${accountId} and consent_id > ${after}
        order by consent_id limit ${limit}
      ) o
      left join lateral (select id from consents where account_id = ${accountId} and id = o.consent_id offset 0) c on true
    ) as origins`
}

/** Returns up to `limit` leaves with a negative index, and as many behind a gap after the last checkpoint. */
export function listMisplaced(
  sql: Sql,
  accountId: string,
  limit: number,
): Promise<Pick<LeafRow, 'leaf_index' | 'consent_id' | 'version'>[]> {
  return sql<LeafRow[]>`
    (select leaf_index::float8 as leaf_index, consent_id, version from log_entries
      where account_id = ${accountId} and leaf_index < 0 order by leaf_index limit ${limit})
    union all
    (select leaf_index::float8 as leaf_index, consent_id, version from (
        select l.leaf_index, l.consent_id, l.version, last.size + row_number() over (order by l.leaf_index) - 1 as expected
        from log_entries l
        cross join (
          select coalesce(max(tree_size), 0) as size from checkpoints where account_id = ${accountId}
        ) as last
        where l.account_id = ${accountId} and l.leaf_index >= last.size
      ) as uncovered
      where leaf_index <> expected order by leaf_index limit ${limit})`
}

export function listUnindexed(
  sql: Sql,
  accountId: string,
  until: Date,
  limit: number,
): Promise<Pick<LeafRow, 'consent_id' | 'version'>[]> {
  return sql<LeafRow[]>`
    select l.consent_id, l.version from log_entries l ${withTime(sql, accountId)}
    where l.account_id = ${accountId} and l.leaf_index is null and h.created_at <= ${until}
    order by l.consent_id, l.version limit ${limit}`
}

export function listCheckpoints(
  sql: Sql,
  accountId: string,
  { after, upTo }: { after: number; upTo: number },
  limit: number,
): Promise<CheckpointRow[]> {
  return sql<CheckpointRow[]>`
    select ${checkpointColumns(sql)} from checkpoints
    where account_id = ${accountId} and tree_size > ${after} and tree_size <= ${upTo}
    order by checkpoints.tree_size limit ${limit}`
}

export async function recordVerification(sql: Sql, findings: number): Promise<void> {
  await sql`
    insert into verifications (scope, finished_at, findings) values ('all', ${new Date()}, ${findings})
    on conflict (scope) do update set finished_at = excluded.finished_at, findings = excluded.findings`
}

/** Analyzes tables that have doubled since the last `analyze`: with stale statistics, plans take hours. */
export async function analyzeFilled(sql: Sql): Promise<void> {
  const tables = await sql<{ name: string }[]>`
    select c.relname as name from pg_class c join pg_stat_user_tables s on s.relid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relname in ('consents', 'consent_history', 'log_entries')
      and (c.reltuples < 0 or s.n_mod_since_analyze > c.reltuples) and not pg_is_in_recovery()`
  for (const { name } of tables) await sql`analyze ${sql(name)}`
}
