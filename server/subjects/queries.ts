import type { Fragment, Sql } from 'postgres'
import type { BatchLink, DeletedRow, StateRow } from '../consents/rows.ts'
import { toArrayLiteral } from '../db/fragments.ts'
import { andReached, type Reach } from '../db/reach.ts'

export interface Selection {
  readonly subjectId: string
  readonly ids: readonly string[] | undefined
  readonly after: string | undefined
}

export interface SiteCount {
  site_id: string
  live: number
  selected: number
  /** Deleted and not purged. */
  deleted: number
}

function isSelected(sql: Sql, { ids, after }: Selection): Fragment {
  const isNamed = ids === undefined ? sql`true` : sql`id = any (${toArrayLiteral(ids)}::uuid[])`
  return after === undefined ? isNamed : sql`(${isNamed} and id > ${after}::uuid)`
}

export function findLive(
  sql: Sql,
  reach: Reach,
  selection: Selection,
  { skip, limit }: { readonly skip: Iterable<string>; readonly limit: number },
): Promise<StateRow[]> {
  return sql<StateRow[]>`
    select id, version, chain_head, updated_at, accepted, preferences, policy_version from consents
    where account_id = ${reach.accountId} ${andReached(sql, reach)} and subject_id = ${selection.subjectId} and deleted_at is null
      and ${isSelected(sql, selection)} and id <> all (${toArrayLiteral([...skip])}::uuid[])
    order by id limit ${limit}`
}

export function listLive(sql: Sql, reach: Reach, selection: Selection, limit: number): Promise<DeletedRow[]> {
  return sql<DeletedRow[]>`
    select id, site_id, deleted_at from consents
    where account_id = ${reach.accountId} ${andReached(sql, reach)} and subject_id = ${selection.subjectId} and deleted_at is null
      and ${isSelected(sql, selection)}
    order by id limit ${limit}`
}

/** Returns the deleted records that are not purged. */
export function findDeleted(sql: Sql, reach: Reach, subjectId: string, ids: readonly string[]): Promise<DeletedRow[]> {
  return sql<DeletedRow[]>`
    select id, site_id, deleted_at from consents
    where account_id = ${reach.accountId} ${andReached(sql, reach)} and subject_id = ${subjectId} and deleted_at is not null
      and id = any (${toArrayLiteral(ids)}::uuid[])
    order by id`
}

export function countBySite(sql: Sql, reach: Reach, selection: Selection): Promise<SiteCount[]> {
  return sql<SiteCount[]>`
    select site_id, (count(*) filter (where deleted_at is null))::integer as live,
      (count(*) filter (where deleted_at is null and ${isSelected(sql, selection)}))::integer as selected,
      (count(*) filter (where deleted_at is not null))::integer as deleted
    from consents where account_id = ${reach.accountId} ${andReached(sql, reach)} and subject_id = ${selection.subjectId}
    group by site_id order by site_id`
}

/** Returns records that no erasure request deleted, by id. */
export function findUnmarked(
  sql: Sql,
  reach: Reach,
  subjectId: string,
  { skip, after, limit }: { readonly skip: Iterable<string>; readonly after: string | null; readonly limit: number },
): Promise<StateRow[]> {
  return sql<StateRow[]>`
    select c.id, c.version, c.chain_head, c.updated_at, c.accepted, c.preferences, c.policy_version
    from (
      select * from consents
      where account_id = ${reach.accountId} ${andReached(sql, reach)} and subject_id = ${subjectId} and deleted_at is not null
        and ${after === null ? sql`true` : sql`id > ${after}::uuid`} and id <> all (${toArrayLiteral([...skip])}::uuid[])
      order by id offset 0
    ) c cross join lateral (
      select action, erased from consent_history
      where account_id = ${reach.accountId} and consent_id = c.id and version = c.version offset 0
    ) h
    where h.action = 'deleted' and h.erased is null
    order by c.id limit ${limit}`
}

export interface WrittenRow {
  id: string
  site_id: string
  at: Date
}

/** Returns the records whose audit entries were written, including purged ones. */
export function findWritten(sql: Sql, accountId: string, links: readonly BatchLink[]): Promise<WrittenRow[]> {
  return sql<WrittenRow[]>`
    select c.id, c.site_id, h.created_at as at
    from consent_history h join consents c on c.account_id = h.account_id and c.id = h.consent_id
    where h.account_id = ${accountId} and h.consent_id = any (${toArrayLiteral(links.map(({ id }) => id))}::uuid[])
      and h.hash = any (${toArrayLiteral(links.map(({ hash }) => hash))}::bytea[])
    order by c.id`
}

export interface NearMatchRow {
  subject_id: string
  live: number
  deleted: number
  total: number
}

export function findNearMatches(
  sql: Sql,
  reach: Reach,
  { subjectId, form }: { readonly subjectId: string; readonly form: string },
  limit: number,
): Promise<NearMatchRow[]> {
  const { accountId } = reach
  const reached = andReached(sql, reach)
  return sql<NearMatchRow[]>`
    select subject_id, (count(*) filter (where deleted_at is null))::integer as live,
      (count(*) filter (where deleted_at is not null))::integer as deleted, (count(*) over ())::integer as total
    from (
      select subject_id, deleted_at from consents where account_id = ${accountId} ${reached} and subject_id = ${form}
      union all
      select subject_id, deleted_at from consents where account_id = ${accountId} ${reached} and near_subject = ${form}
    ) as near
    where subject_id <> ${subjectId}
    group by subject_id order by subject_id collate "C" limit ${limit}`
}
