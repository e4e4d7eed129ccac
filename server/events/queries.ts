import type { Fragment, Sql } from 'postgres'
import { backdatingToleranceMs } from '../../src/evidence/dates.ts'
import { toArrayLiteral } from '../db/fragments.ts'

type Preferences = Readonly<Record<string, unknown>>

export interface EventRow {
  readonly position: number
  readonly hash: string
  readonly record_id: string
  readonly version: number
  /** Null if the history lacks the entry, as are the next ones. */
  readonly action: string | null
  readonly erased: boolean | null
  readonly accepted: boolean | null
  readonly preferences: Preferences | null
  readonly changed_by: string | null
  readonly created_at: Date | null
  /** By a purge, which removes the preferences. */
  readonly is_stripped: boolean | null
  readonly accepted_before: boolean | null
  readonly preferences_before: Preferences | null
  readonly site_id: string | null
  /** Of an entry of the administrators' log. */
  readonly document: string | null
}

export function listEventRows(sql: Sql, accountId: string, after: number | null, limit: number): Promise<EventRow[]> {
  return readEventRows(
    sql,
    accountId,
    sql`log_entries where account_id = ${accountId} and leaf_index > ${after ?? -1} order by leaf_index limit ${limit}`,
  )
}

interface Place {
  readonly record: string
  readonly position: number
}

/** Of each record its first `limit` events from a position on and up to `last`. The account's id is that of its own log. */
export function listEventRowsOf(
  sql: Sql,
  accountId: string,
  places: readonly Place[],
  last: number,
  limit: number,
): Promise<EventRow[]> {
  const [records, firsts] = [places.map(({ record }) => record), places.map(({ position }) => position)]
  return readEventRows(
    sql,
    accountId,
    sql`unnest(${toArrayLiteral(records)}::uuid[], ${toArrayLiteral(firsts)}::bigint[]) as place (record, first)
      cross join lateral (
        select consent_id, version, hash, leaf_index from log_entries
        where account_id = ${accountId} and consent_id = place.record and leaf_index between place.first and ${last}
        order by version limit ${limit}
      ) as entries`,
  )
}

/** `offset 0` reads only the entries of these leaves. */
function readEventRows(sql: Sql, accountId: string, entries: Fragment): Promise<EventRow[]> {
  return sql<EventRow[]>`
    select l.leaf_index::float8 as position, encode(l.hash, 'hex') as hash, l.consent_id as record_id, l.version,
      h.action, h.erased, h.accepted, h.preferences, h.changed_by, h.created_at, h.salt is null as is_stripped,
      p.accepted as accepted_before, p.preferences as preferences_before, c.site_id, e.document
    from (
      select consent_id, version, hash, leaf_index from ${entries}
    ) as l
    left join lateral (
      select action, erased, accepted, preferences, changed_by, created_at, salt from consent_history
      where account_id = ${accountId} and consent_id = l.consent_id and version = l.version offset 0
    ) as h on true
    left join lateral (
      select accepted, preferences from consent_history
      where account_id = ${accountId} and consent_id = l.consent_id and version = l.version - 1 offset 0
    ) as p on true
    left join lateral (
      select site_id from consents where account_id = ${accountId} and id = l.consent_id offset 0
    ) as c on true
    left join lateral (
      select document from account_entries
      where l.consent_id = ${accountId} and account_id = ${accountId} and version = l.version offset 0
    ) as e on true
    order by l.leaf_index`
}

/** The last position before `time`, or null: a checkpoint had every entry of its own time. */
export async function findPositionBefore(sql: Sql, accountId: string, time: number): Promise<number | null> {
  const [row] = await sql<{ size: number }[]>`
    select tree_size::float8 as size from checkpoints
    where account_id = ${accountId} and created_at < ${new Date(time - backdatingToleranceMs)}
    order by created_at desc, tree_size desc limit 1`
  return row ? row.size - 1 : null
}

export async function findNewestPosition(sql: Sql, accountId: string): Promise<number | null> {
  const [row] = await sql<{ position: number }[]>`
    select leaf_index::float8 as position from log_entries
    where account_id = ${accountId} and leaf_index is not null order by leaf_index desc limit 1`
  return row?.position ?? null
}
