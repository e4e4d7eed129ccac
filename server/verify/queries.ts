import type { Sql } from 'postgres'
import type { Identity, State } from '../../src/evidence/chain.ts'
import { type CheckpointRow, checkpointColumns } from '../evidence/queries.ts'

/** A record under the names that `listPieces` gives its columns; all of them null where there is none. */
type RecordColumns = {
  [Name in keyof StoredRecord as `r_${Name}`]: StoredRecord[Name] | null
}

export interface StoredRecord extends Identity, State {
  readonly id: string
  /** The site's id where the account has it, else null. */
  readonly site: string | null
  readonly version: number
  readonly record_hash: Buffer
  readonly chain_head: Buffer
  readonly created_at: Date
  readonly updated_at: Date
  readonly deleted_at: Date | null
  readonly purged_at: Date | null
  /** As in PieceRow. */
  readonly digits: string | null
}

/**
 * One version of a record: its entry, and the hash that the log has of it. Null where they are missing, and in any column of
 * which somebody has taken that none may be null.
 */
export interface PieceRow extends State, RecordColumns {
  readonly record_id: string | null
  /** Null where the record has neither history nor log. */
  readonly version: number | null
  readonly action: string | null
  readonly changed_by: string | null
  readonly actor_id: string | null
  readonly created_at: Date | null
  readonly salt: Buffer | null
  readonly payload_hash: Buffer | null
  /** The preferences as they are stored, where a number of them may have more digits than a double keeps. */
  readonly digits: string | null
  /** Null where the history has no such entry. */
  readonly hash: Buffer | null
  /** Null where the log has none. */
  readonly logged: Buffer | null
}

export interface LeafRow {
  readonly leaf_index: number
  /** Null where somebody has taken it. */
  readonly hash: Buffer | null
  readonly consent_id: string
  readonly version: number
}

export const recordColumns = [
  ...([
    'id',
    'site',
    'site_id',
    'consent_id',
    'subject_id',
    'country',
    'region',
    'user_agent',
    'ip_network',
  ] as const),
  ...(['accepted', 'preferences', 'policy_version', 'version', 'record_hash', 'chain_head'] as const),
  ...(['created_at', 'updated_at', 'deleted_at', 'purged_at', 'digits'] as const),
] satisfies (keyof StoredRecord)[]

/** The next account that has anything: an account of records alone is one that somebody has made up. */
export async function findNextAccount(sql: Sql, after: string | null): Promise<string | undefined> {
  const above = after === null ? sql`` : sql`where account_id > ${after}`
  const [row] = await sql<{ account_id: string }[]>`
    select account_id from (
      (select account_id from accounts ${above} order by account_id limit 1)
      union all (select account_id from consents ${above} order by account_id limit 1)
      union all (select account_id from consent_history ${above} order by account_id limit 1)
      union all (select account_id from log_entries ${above} order by account_id limit 1)
      union all (select account_id from checkpoints ${above} order by account_id limit 1)
    ) as first order by account_id limit 1`
  return row?.account_id
}

/** The ids of the records that are read together: none of them when it is unbounded. */
export interface Range {
  readonly above?: string | null
  readonly from?: string
  readonly upTo: string | null
}

/** Where the records after an id are cut, so that no table has many more than `size` rows of them; null for nowhere. */
export async function findCut(
  sql: Sql,
  accountId: string,
  above: string | null,
  size: number,
): Promise<string | null> {
  const [row] = await sql<{ cut: string | null }[]>`
    select least(
      (select id from consents where account_id = ${accountId} ${above === null ? sql`` : sql`and id > ${above}`}
        order by id offset ${size} limit 1),
      (select consent_id from consent_history
        where account_id = ${accountId} ${above === null ? sql`` : sql`and consent_id > ${above}`}
        order by consent_id, version offset ${size} limit 1),
      (select consent_id from log_entries
        where account_id = ${accountId} ${above === null ? sql`` : sql`and consent_id > ${above}`}
        order by consent_id, version offset ${size} limit 1)
    ) as cut`
  return row?.cut ?? null
}

/**
 * Records with their history and its log: a row for each version of each, in their order, and whichever of the three is
 * missing is null. One statement, and so of one moment.
 */
export function listPieces(sql: Sql, accountId: string, range: Range): Promise<PieceRow[]> {
  const within = (column: 'id' | 'consent_id') => sql`
    account_id = ${accountId}
      ${range.above ? sql`and ${sql(column)} > ${range.above}` : sql``}
      ${range.from ? sql`and ${sql(column)} >= ${range.from}` : sql``}
      ${range.upTo === null ? sql`` : sql`and ${sql(column)} <= ${range.upTo}`}`
  const digits = sql`case when preferences::text ~ '[0-9.]{16}' then preferences::text end as digits`
  return sql<PieceRow[]>`
    with c as (select *, ${digits} from consents where ${within('id')}),
      h as (select *, ${digits} from consent_history where ${within('consent_id')}),
      l as (select consent_id, version, hash from log_entries where ${within('consent_id')}),
      e as (
        select coalesce(h.consent_id, l.consent_id) as consent_id, coalesce(h.version, l.version) as version,
          h.action, h.accepted, h.preferences, h.policy_version, h.changed_by, h.actor_id, h.created_at, h.salt,
          h.payload_hash, h.hash, h.digits, l.hash as logged
        from h full join l on l.consent_id = h.consent_id and l.version = h.version)
    select coalesce(c.id, e.consent_id) as record_id, e.version, e.action, e.accepted, e.preferences, e.policy_version,
      e.changed_by, e.actor_id, e.created_at, e.salt, e.payload_hash, e.hash, e.digits, e.logged,
      c.id as r_id, s.id as r_site, c.site_id as r_site_id, c.consent_id as r_consent_id, c.subject_id as r_subject_id,
      c.country as r_country, c.region as r_region, c.user_agent as r_user_agent, c.ip_network as r_ip_network,
      c.accepted as r_accepted, c.preferences as r_preferences, c.policy_version as r_policy_version,
      c.version as r_version, c.record_hash as r_record_hash, c.chain_head as r_chain_head,
      c.created_at as r_created_at, c.updated_at as r_updated_at, c.deleted_at as r_deleted_at,
      c.purged_at as r_purged_at, c.digits as r_digits
    from c full join e on e.consent_id = c.id
      left join sites s on s.account_id = ${accountId} and s.id = c.site_id
    order by record_id, e.version`
}

/** Leaves of an account's log from a place on, below another one. */
export function listLeaves(
  sql: Sql,
  accountId: string,
  { from, below }: { from: number; below: number },
  limit: number,
): Promise<LeafRow[]> {
  return sql<LeafRow[]>`
    select leaf_index::float8 as leaf_index, hash, consent_id, version from log_entries
    where account_id = ${accountId} and leaf_index >= ${from} and leaf_index < ${below}
    order by leaf_index limit ${limit}`
}

/** Entries whose place no checkpoint covers: at most `limit` of those below the first one, and of those above the last. */
export function listMisplaced(sql: Sql, accountId: string, limit: number): Promise<LeafRow[]> {
  return sql<LeafRow[]>`
    (select leaf_index::float8 as leaf_index, hash, consent_id, version from log_entries
      where account_id = ${accountId} and leaf_index < 0 order by leaf_index limit ${limit})
    union all
    (select leaf_index::float8 as leaf_index, hash, consent_id, version from log_entries
      where account_id = ${accountId}
        and leaf_index >= (select coalesce(max(tree_size), 0) from checkpoints where account_id = ${accountId})
      order by leaf_index limit ${limit})`
}

type Place = Pick<LeafRow, 'consent_id' | 'version'>

/** Entries of before an instant that have no place in the log, between two others in the order in which it takes them. */
export function listPlaceless(
  sql: Sql,
  accountId: string,
  { above, below, until }: { above: Place | undefined; below: Place | undefined; until: Date },
  limit: number,
): Promise<Place[]> {
  return sql<Place[]>`
    select l.consent_id, l.version from log_entries l
    join consent_history h on h.account_id = l.account_id and h.consent_id = l.consent_id and h.version = l.version
    where l.account_id = ${accountId} and l.leaf_index is null and h.created_at <= ${until}
      ${above ? sql`and (l.consent_id, l.version) > (${above.consent_id}::uuid, ${above.version}::integer)` : sql``}
      ${below ? sql`and (l.consent_id, l.version) < (${below.consent_id}::uuid, ${below.version}::integer)` : sql``}
    order by l.consent_id, l.version limit ${limit}`
}

/** The checkpoints of an account between two sizes, the smallest first. */
export function listCheckpoints(
  sql: Sql,
  accountId: string,
  { after, upTo }: { after: number; upTo: number },
  limit: number,
): Promise<CheckpointRow[]> {
  return sql<CheckpointRow[]>`
    select ${checkpointColumns(sql)}
    from checkpoints where account_id = ${accountId} and tree_size > ${after} and tree_size <= ${upTo}
    order by tree_size limit ${limit}`
}
