import type { Fragment, Sql } from 'postgres'
import type { StatsQuery } from '../../src/contract/index.ts'
import { entriesPerCheckpoint } from '../../src/evidence/dates.ts'
import type { Accounts } from '../db/accounts.ts'
import { toArrayLiteral } from '../db/fragments.ts'
import { changes, everySite, isShared, isUncounted, mostVersions, otherGroups, progress } from './changes.ts'

export interface StatsProgress {
  /** Counted from the start of the log. */
  readonly leaves: number
  readonly revision: number
}

export interface BehindRow extends StatsProgress {
  readonly account_id: string
  readonly size: number
}

export function listBehind(sql: Sql, accounts: Accounts, limit: number): Promise<BehindRow[]> {
  return sql<BehindRow[]>`
    select a.account_id, coalesce(p.leaves, 0)::float8 as leaves,
      coalesce(p.revision, 0)::float8 as revision, last.leaf_index::float8 + 1 as size
    from accounts a left join statistics_progress p on p.account_id = a.account_id
    cross join lateral (
      select l.leaf_index from log_entries l
      where l.account_id = a.account_id and l.account_id ${accounts} and l.leaf_index >= coalesce(p.leaves, 0)
      order by l.leaf_index desc limit 1
    ) last
    where a.account_id ${accounts} order by a.account_id limit ${limit}`
}

/** Returns the progress, and the records of the persons of `ids` with uncounted entries. */
export async function findUncounted(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<StatsProgress & { readonly ids: readonly string[] }> {
  const [row] = await sql<(StatsProgress & { ids: string[] })[]>`
    with ${progress(sql, accountId)}, own as materialized (
      select id, subject_id from consents where account_id = ${accountId} and id = any (${toArrayLiteral(ids)}::uuid[])
    ), records as materialized (
      select id from own
      union
      select c.id from (
        select subject_id from (select distinct subject_id from own where subject_id is not null) as s
        where not ${isShared(sql, accountId, sql`s.subject_id`)} offset 0
      ) as p cross join lateral (
        select id from consents where account_id = ${accountId} and subject_id = p.subject_id offset 0
      ) as c
    )
    select coalesce((select leaves from progress), 0)::float8 as leaves,
      coalesce((select revision from progress), 0)::float8 as revision,
      coalesce((
        select json_agg(id) from records r where exists (
          select 1 from log_entries l where l.account_id = ${accountId} and l.consent_id = r.id and ${isUncounted(sql)})
      ), '[]') as ids`
  return row ?? { leaves: 0, revision: 0, ids: [] }
}

/** Returns false if another statement has counted since. */
export async function countLeaves(
  sql: Sql,
  accountId: string,
  { leaves, revision }: StatsProgress,
  to: number,
): Promise<boolean> {
  const [row] = await sql<{ is_moved: boolean }[]>`
    with ${progress(sql, accountId)}, entries as materialized (
      select l.consent_id, l.version from log_entries l
      where l.account_id = ${accountId} and l.leaf_index >= ${leaves} and l.leaf_index < ${to} and l.is_counted is null
    ), ${moved(sql, accountId, { leaves: to, revision })}, ${changes(sql, accountId)}, ${stored(sql, accountId)}
    select exists (select 1 from moved) as is_moved`
  return row?.is_moved === true
}

/** Counts entries ahead of the log. */
export async function countRecords(
  sql: Sql,
  accountId: string,
  known: StatsProgress,
  ids: readonly string[],
): Promise<boolean> {
  const among = sql`l.account_id = ${accountId} and l.consent_id = any (${toArrayLiteral(ids)}::uuid[])`
  const [row] = await sql<{ is_moved: boolean }[]>`
    with ${progress(sql, accountId)}, entries as materialized (
      select l.consent_id, l.version from log_entries l where ${among} and ${isUncounted(sql)}
    ), ${moved(sql, accountId, known)}, marked as (
      update log_entries l set is_counted = true from entries e cross join moved
      where ${among} and l.consent_id = e.consent_id and l.version = e.version
    ), ${changes(sql, accountId)}, ${stored(sql, accountId)}
    select exists (select 1 from moved) as is_moved`
  return row?.is_moved === true
}

/** CTE `moved`: no row if another statement has counted since the revision was read. */
function moved(sql: Sql, accountId: string, { leaves, revision }: StatsProgress): Fragment {
  return sql`moved as (
    insert into statistics_progress as p (account_id, leaves, revision) values (${accountId}, ${leaves}, 1)
    on conflict (account_id) do update set leaves = excluded.leaves, revision = p.revision + 1
      where p.revision = ${revision}
    returning account_id)`
}

/** CTEs `merged`, the statistics with `changes`, and `stored`, which writes them if `moved` has a row. */
function stored(sql: Sql, accountId: string): Fragment {
  return sql`merged as (
    select c.kind, c.site_id, c.value, c.day, c.records + coalesce(s.records, 0) as records,
      c.deleted + coalesce(s.deleted, 0) as deleted, c.accepted + coalesce(s.accepted, 0) as accepted,
      c.withdrawn + coalesce(s.withdrawn, 0) as withdrawn, c.anonymous + coalesce(s.anonymous, 0) as anonymous,
      c.new_persons + coalesce(s.new_persons, 0) as new_persons,
      coalesce(m.previous_days, s.previous_days, '{}') as previous_days,
      coalesce(m.persons_until, s.persons_until, '{}') as persons_until, c.imported + coalesce(s.imported, 0) as imported
    from changes c
    left join lateral (
      select * from statistics
      where account_id = ${accountId} and kind = c.kind and site_id = c.site_id and value = c.value and day = c.day offset 0
    ) as s on true
    cross join lateral (
      select array_agg(previous order by previous) as previous_days, array_agg(until order by previous) as persons_until
      from (
        select previous, sum(sum(persons)) over (order by previous)::bigint as until
        from (
          select previous, until - coalesce(lag(until) over (order by previous), 0) as persons
          from unnest(c.previous_days, c.persons_until) as own (previous, until)
          union all
          select previous, until - coalesce(lag(until) over (order by previous), 0)
          from unnest(s.previous_days, s.persons_until) as stored (previous, until)
        ) as both_parts
        where c.previous_days <> '{}'
        group by previous
      ) as sums
    ) as m
    where (c.records, c.deleted, c.accepted, c.withdrawn, c.new_persons, c.previous_days, c.imported)
      <> (0, 0, 0, 0, 0, '{}', 0)
  ), stored as (
    insert into statistics (account_id, kind, site_id, value, day, records, deleted, accepted, withdrawn, anonymous,
      new_persons, previous_days, persons_until, imported)
    select a.account_id, m.* from merged m cross join moved join accounts a on a.account_id = ${accountId}
    on conflict (account_id, kind, site_id, value, day) do update set
      records = excluded.records, deleted = excluded.deleted, accepted = excluded.accepted,
      withdrawn = excluded.withdrawn, anonymous = excluded.anonymous, new_persons = excluded.new_persons,
      previous_days = excluded.previous_days, persons_until = excluded.persons_until,
      imported = excluded.imported)`
}

export interface GroupRow {
  readonly is_total: boolean
  readonly is_rest: boolean
  readonly site_id: string
  /** First day of a period, policy version, country or '', or key of a preference. */
  readonly value: string
  readonly records: number
  readonly persons: number
  readonly anonymous: number
  /** For preferences: those that are true. */
  readonly accepted: number
  readonly withdrawn: number
  readonly deleted: number
  readonly imported: number
}

/** With more uncounted entries, a response shows the state of the job. */
const maxUncounted = 10_000

const maxUncountedKeys = 30_000

const maxGroups = 1000

type By = NonNullable<StatsQuery['by']>

const kinds = { site: 'all', policy: 'policy', country: 'country', preference: 'preference' } as const

/**
 * Returns the total, the largest groups by name, and the sum of the others. `uncounted` entries are omitted: none, or
 * all if there are too many. One statement, because entries move to counted.
 */
export function findGroups(
  sql: Sql,
  accountId: string,
  { site_id, from, to, by }: StatsQuery,
): Promise<(GroupRow & { readonly uncounted: number })[]> {
  const site = sql`${site_id ?? everySite}::uuid`
  const isTotal = sql`g.kind = 'all' and g.site_id = ${site}`
  const isNamedByVisitors = by === 'policy' || by === 'preference'
  const period = by === 'day' || by === 'week' || by === 'month' ? by : null
  const isGroup = by === undefined || period !== null ? isTotal : isGroupOf(sql, by as keyof typeof kinds, site_id)
  const first = from === undefined ? null : sql`${from}::text::date`
  const inRange = sql`${first ? sql`g.day >= ${first}` : sql`true`} and
    ${to === undefined ? sql`true` : sql`g.day <= ${to}::text::date`}`
  const changed = sql`changes g where ${inRange}`
  const cells = (condition: Fragment) => sql`
      select ${cellColumns(sql)} from statistics g where g.account_id = ${accountId} and ${condition} and ${inRange}
      union all select ${cellColumns(sql)} from ${changed} and ${condition}`
  const groups =
    by === undefined ? sql`` : sql`union all ${groupsOf(sql, by, period ? sql`total_cells` : sql`group_cells`, first)}`
  return sql<(GroupRow & { uncounted: number })[]>`
    with ${progress(sql, accountId)}, ${uncounted(sql, accountId, by)}, entries as materialized (
      select consent_id, version from uncounted where (select fits from size)
    ), ${changes(sql, accountId, sql`(${isTotal} or ${isGroup})`)},
    total_cells as materialized (${cells(isTotal)}),
    group_cells as materialized (${cells(isGroup)}),
    groups as (
      select true as is_total, ${site} as site_id, '' as value, ${sums(sql, first)} from total_cells g ${groups}
    ), places as (
      select *, ${isNamedByVisitors ? isRest(sql) : sql`false`} as is_rest
      from groups where is_total or records <> 0
    )
    select is_total, is_rest, case when is_rest then ${everySite}::uuid else site_id end as site_id,
      case when is_rest then '' else value end as value, ${numbers(sql)},
      case when (select fits from size) then 0 else (${countUncounted(sql, accountId)}) end::float8 as uncounted
    from places group by 1, 2, 3, 4 order by is_total desc, is_rest, value, site_id`
}

function isRest(sql: Sql): Fragment {
  return sql`not is_total and (value = ${otherGroups} or row_number() over (
    partition by is_total order by value = ${otherGroups}, records desc, value, site_id) > ${maxGroups})`
}

function numbers(sql: Sql): Fragment {
  return sql`sum(records) as records, sum(persons) as persons, sum(anonymous) as anonymous, sum(accepted) as accepted,
    sum(withdrawn) as withdrawn, sum(deleted) as deleted, sum(imported) as imported`
}

function countUncounted(sql: Sql, accountId: string): Fragment {
  return sql`select count(*) from log_entries l where l.account_id = ${accountId} and ${isUncounted(sql)}`
}

/** CTEs `uncounted`, the uncounted entries or more than `maxUncounted`, and `size`. Two indexes have a part each. */
function uncounted(sql: Sql, accountId: string, by: By | undefined): Fragment {
  const unmarked = sql`account_id = ${accountId} and is_counted is null`
  const isShort = sql`(
    select count(*) <= ${maxUncountedKeys} from uncounted u
    cross join lateral (
      select preferences from consent_history
      where account_id = ${accountId} and consent_id = u.consent_id
        and version > u.version - ${mostVersions} and version <= u.version offset 0
    ) as h
    cross join lateral jsonb_object_keys(h.preferences))`
  return sql`uncounted as materialized (
      (select consent_id, version from log_entries where ${unmarked} and leaf_index is null
        order by consent_id, version limit ${maxUncounted + 1})
      union all
      (select consent_id, version from log_entries
        where ${unmarked} and leaf_index >= coalesce((select leaves from progress), 0)
        order by leaf_index limit ${maxUncounted + 1})
    ), size as materialized (
      select case when count(*) > ${maxUncounted} then false else ${by === 'preference' ? isShort : sql`true`} end as fits
      from uncounted
    )`
}

const cellColumns = (sql: Sql) => sql`g.kind, g.site_id, g.value, g.day, g.records, g.deleted, g.accepted, g.withdrawn,
  g.anonymous, g.new_persons, g.previous_days, g.persons_until, g.imported`

function isGroupOf(sql: Sql, by: keyof typeof kinds, siteId: string | undefined): Fragment {
  const isOfSites = by === 'site' || by === 'policy'
  const site = siteId === undefined && isOfSites ? sql`<> ${everySite}::uuid` : sql`= ${siteId ?? everySite}::uuid`
  return sql`(g.kind = ${kinds[by]} and g.site_id ${site})`
}

function groupsOf(sql: Sql, by: By, cells: Fragment, first: Fragment | null): Fragment {
  if (by !== 'day' && by !== 'week' && by !== 'month')
    return sql`select false, g.site_id, g.value, ${sums(sql, first)} from ${cells} g group by 2, 3`
  const start = sql`date_trunc(${by}, g.day::timestamp)::date`
  return sql`
    select false, g.site_id, to_char(p.start, 'YYYY-MM-DD'), ${sums(sql, first ? sql`greatest(p.start, ${first})` : sql`p.start`)}
    from ${cells} g cross join lateral (select ${start} as start) p group by 2, 3`
}

/** Counts a person on the first day since `first`, or of all days if that is null. */
function sums(sql: Sql, first: Fragment | null): Fragment {
  const returned = first
    ? sql`coalesce(g.persons_until[width_bucket(${first} - '1970-01-01'::date - 1, g.previous_days)], 0)`
    : sql`0`
  return sql`coalesce(sum(g.records), 0)::float8 as records,
    coalesce(sum(g.new_persons + ${returned}), 0)::float8 as persons,
    coalesce(sum(g.anonymous), 0)::float8 as anonymous, coalesce(sum(g.accepted), 0)::float8 as accepted,
    coalesce(sum(g.withdrawn), 0)::float8 as withdrawn, coalesce(sum(g.deleted), 0)::float8 as deleted,
    coalesce(sum(g.imported), 0)::float8 as imported`
}

/** Returns the time of the last counted checkpoint that ended a run: no earlier entry is uncounted. */
export async function findCountedUntil(sql: Sql, accountId: string): Promise<Date | null> {
  const [row] = await sql<{ created_at: Date }[]>`
    with ${progress(sql, accountId)}
    select created_at from checkpoints
    where account_id = ${accountId} and tree_size <= (select leaves from progress)
      and tree_size - from_size < ${entriesPerCheckpoint}
    order by tree_size desc limit 1`
  return row?.created_at ?? null
}

export async function findSiteNames(sql: Sql, accountId: string, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; name: string }[]>`
    select id, name from sites where account_id = ${accountId} and id = any (${toArrayLiteral(ids)}::uuid[])`
  return new Map(rows.map(({ id, name }) => [id, name]))
}
