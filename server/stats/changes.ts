import type { Fragment, Sql } from 'postgres'
import { noId } from '../ids.ts'

/** Stands for all sites. No site has this id. */
export const everySite = noId

/** Preferences to count: not addresses and numbers, because no purge removes them. */
const plainKey = '^[^0-9+@][^@]{0,63}$'

/** Anyone can choose policy and preference names. */
export const maxGroupsPerDay = 500

/** Value of the row for a day's other groups. */
export const otherGroups = ''

/** Newest answers of a record that are counted: a visitor may change it any number of times. */
export const mostVersions = 20

/** A subject with more records, such as `guest`, is not a person. */
const mostRecordsOfPerson = 1000

/** Reads only the index by subject. */
export function isShared(sql: Sql, accountId: string, subject: Fragment): Fragment {
  return sql`exists (
    select 1 from consents where account_id = ${accountId} and subject_id = ${subject} offset ${mostRecordsOfPerson} limit 1)`
}

/** CTE `progress`: the number of leaves counted; no row before the first. */
export function progress(sql: Sql, accountId: string): Fragment {
  return sql`progress as (
    select leaves, revision from statistics_progress where account_id = ${accountId})`
}

export function isUncounted(sql: Sql): Fragment {
  return sql`l.is_counted is null
    and (l.leaf_index is null or l.leaf_index >= coalesce((select leaves from progress), 0))`
}

/** The purposes of the notice of a row `c` of consents; null if it names none, or none is held. */
export function namedPurposes(sql: Sql, accountId: string, c: Fragment): Fragment {
  return sql`case when ${c}.notice_entry is not null then (
    select array_agg(distinct p ->> 'key') from notices n cross join lateral jsonb_array_elements(n.purposes) as p
    where n.account_id = ${accountId} and n.site_id = ${c}.site_id and n.policy_version = ${c}.policy_version
      and n.published_entry = ${c}.notice_entry) end`
}

/**
 * True if the consent is given, at least for some purposes of `t.named`, after an entry `e` of a history
 * (src/evidence/state.ts); of a purged record if the entry has `accepted`.
 */
export function isGiven(sql: Sql, accountId: string, e: Fragment): Fragment {
  const has = (preferences: Fragment, path: Fragment, ofPurpose: Fragment) => sql`case
    when t.named is null then jsonb_path_exists(${preferences}, ${path})
    else exists (select 1 from unnest(t.named) as k where ${ofPurpose}) end`
  const isTrue = has(sql`${e}.preferences`, sql`'strict $.* ? (@ == true)'`, sql`${e}.preferences -> k = 'true'`)
  const isBoolean = has(
    sql`p.preferences`,
    sql`'strict $.* ? (@.type() == "boolean")'`,
    sql`jsonb_typeof(p.preferences -> k) = 'boolean'`,
  )
  return sql`(${e}.accepted and (${isTrue} or not exists (
    select 1 from consent_history p
    where p.account_id = ${accountId} and p.consent_id = ${e}.consent_id and p.version <= ${e}.version and ${isBoolean})))`
}

/**
 * CTEs up to `changes`: the effect of the CTE `entries` on the statistics of the groups `g` that meet `wanted`. All
 * earlier entries of these records must be counted. A record adds its state after its last entry (sign 1) and subtracts
 * that before its first (sign -1). A purged record's preferences keep their count: a purge is counted last. A person's
 * days in a group form a chain: a new day adds its link to the day before, and replaces that of the day after. A day's
 * new policies and preferences get a row, the most frequent first, until there are `maxGroupsPerDay`; later ones are
 * counted in `otherGroups`, without persons.
 */
export function changes(sql: Sql, accountId: string, wanted: Fragment = sql`true`): Fragment {
  const ofRecord = sql`('all', ''), ('policy', r.policy_version::text), ('country', coalesce(r.country, ''))`
  const groups = (values: Fragment) => sql`
    cross join lateral (values ${values}) as v (kind, value)
    cross join lateral (values (${everySite}::uuid), (r.site_id)) as s (site_id)
    cross join lateral (select v.kind, s.site_id, v.value) as g
    where (g.kind <> 'policy' or g.site_id = r.site_id) and ${wanted}`
  const ofState = sql`r.id, r.sign, r.site_id, r.policy_version, r.country, r.day, r.is_deleted, r.is_anonymous, r.is_imported`
  const day = sql`(c.created_at at time zone 'UTC')::date as day`
  const isNew = sql`c.id in (select consent_id from entries where version = 1)`
  const sums = sql`sum(records) as records, sum(deleted) as deleted, sum(accepted) as accepted,
    sum(withdrawn) as withdrawn, sum(anonymous) as anonymous, sum(imported) as imported`
  return sql`touched as materialized (
      select t.*, c.site_id, c.policy_version, c.country, c.subject_id, c.given_at, ${day},
        ${namedPurposes(sql, accountId, sql`c`)} as named
      from (select consent_id as id, min(version) as first, max(version) as last from entries group by consent_id) as t
      cross join lateral (select * from consents where account_id = ${accountId} and id = t.id offset 0) as c
    ), subjects as materialized (
      select subject_id, ${isShared(sql, accountId, sql`s.subject_id`)} as is_shared
      from (select distinct subject_id from touched where first = 1 and subject_id is not null) as s
    ), states as materialized (
      select t.id, t.site_id, t.policy_version, t.country, t.day, v.sign, h.version,
        ${isGiven(sql, accountId, sql`h`)} as is_given, h.action in ('deleted', 'purged') as is_deleted,
        bool_or(h.action = 'purged' and v.sign = 1) over (partition by t.id) as is_purge,
        not ${isGiven(sql, accountId, sql`h`)} and exists (
          select 1 from consent_history e
          where e.account_id = ${accountId} and e.consent_id = t.id and e.version < h.version
            and ${isGiven(sql, accountId, sql`e`)}
        ) as is_withdrawn,
        t.subject_id is null or t.subject_id in (select subject_id from subjects where is_shared) as is_anonymous,
        t.given_at is not null as is_imported
      from touched t cross join lateral (values (1, t.last), (-1, t.first - 1)) as v (sign, version)
      cross join lateral (
        select consent_id, version, action, accepted, preferences from consent_history
        where account_id = ${accountId} and consent_id = t.id and version = v.version offset 0
      ) as h
      where v.version > 0
    ), answers as (
      select ${ofState}, null as key, r.is_given, r.is_withdrawn from states r
      union all
      select ${ofState}, p.key, bool_or(e.version = r.version and e.accepted and p.value = 'true'),
        bool_or(e.accepted and p.value = 'true') and not bool_or(e.version = r.version and e.accepted and p.value = 'true')
      from states r cross join lateral (
        select version, accepted, preferences from consent_history
        where account_id = ${accountId} and consent_id = r.id and not r.is_purge
          and version > r.version - ${mostVersions} and version <= r.version offset 0
      ) as e cross join lateral jsonb_each(e.preferences) as p
      where jsonb_typeof(p.value) = 'boolean' and p.key ~ ${plainKey}
      group by ${ofState}, p.key
    ), tallies as (
      select site_id, policy_version, country, day, key, is_given, is_withdrawn, sum(sign) as records,
        sum(sign) filter (where is_deleted) as deleted, sum(sign) filter (where is_anonymous) as anonymous,
        sum(sign) filter (where is_imported) as imported
      from answers group by site_id, policy_version, country, day, key, is_given, is_withdrawn
    ), counts as (
      select g.kind, g.site_id, g.value, r.day, sum(r.records) as records, sum(r.deleted) as deleted,
        sum(r.records) filter (where r.is_given) as accepted, sum(r.records) filter (where r.is_withdrawn) as withdrawn,
        sum(r.anonymous) as anonymous, sum(r.imported) as imported
      from tallies r ${groups(sql`${ofRecord}, ('preference', r.key)`)} and (g.kind = 'preference') = (r.key is not null)
      group by g.kind, g.site_id, g.value, r.day
    ), chains as (
      select chain.* from (select subject_id from subjects where not is_shared offset 0) as p cross join lateral (
        select kind, site_id, value, day, is_new, lag(day) over days as previous,
          max(day) filter (where not is_new) over days as counted
        from (
          select g.kind, g.site_id, g.value, r.day, bool_and(r.is_new) as is_new
          from (
            select c.site_id, c.policy_version, c.country, ${day}, ${isNew} as is_new
            from (
              select * from consents where account_id = ${accountId} and subject_id = p.subject_id offset 0
            ) as c
            cross join lateral (
              select is_counted, leaf_index from log_entries
              where account_id = ${accountId} and consent_id = c.id and version = 1 offset 0
            ) as l
            where not (${isUncounted(sql)}) or ${isNew}
          ) as r ${groups(ofRecord)}
          group by g.kind, g.site_id, g.value, r.day
        ) as visits
        window days as (
          partition by kind, site_id, value order by day rows between unbounded preceding and 1 preceding)
      ) as chain
      where is_new or previous is distinct from counted
    ), returns as (
      select c.kind, c.site_id, c.value, c.day, l.previous - '1970-01-01'::date as previous, sum(l.sign) as persons
      from chains c cross join lateral (values (1, c.previous), (-1, c.counted)) as l (sign, previous)
      where l.sign = 1 or not c.is_new
      group by c.kind, c.site_id, c.value, c.day, l.previous
    ), persons as (
      select kind, site_id, value, day, sum(persons) filter (where previous is null) as new_persons,
        array_agg(previous order by previous) filter (where previous is not null) as previous_days,
        array_agg(until order by previous) filter (where previous is not null) as persons_until
      from (
        select *, sum(persons) filter (where previous is not null) over (
          partition by kind, site_id, value, day order by previous
        ) as until
        from returns
      ) as r
      group by kind, site_id, value, day
    ), numbers as materialized (
      select kind, site_id, value, day, coalesce(c.records, 0) as records, coalesce(c.deleted, 0) as deleted,
        coalesce(c.accepted, 0) as accepted, coalesce(c.withdrawn, 0) as withdrawn,
        coalesce(c.anonymous, 0) as anonymous, coalesce(p.new_persons, 0) as new_persons,
        coalesce(p.previous_days, '{}') as previous_days, coalesce(p.persons_until, '{}')::bigint[] as persons_until,
        coalesce(c.imported, 0) as imported, false as is_held
      from counts c full join persons p using (kind, site_id, value, day)
    ), with_held as (
      select * from numbers
      union all
      select d.kind, d.site_id, s.value, d.day, 0, 0, 0, 0, 0, 0, '{}', '{}', 0, true
      from (select distinct kind, site_id, day from numbers where kind in ('policy', 'preference')) as d
      cross join lateral (
        select value from statistics
        where account_id = ${accountId} and kind = d.kind and site_id = d.site_id and day = d.day
          and value <> ${otherGroups} offset 0
      ) as s
    ), ranked as (
      select kind, site_id, value, day, ${sums}, sum(new_persons) as new_persons, max(previous_days) as previous_days,
        max(persons_until) as persons_until, bool_and(is_held) as is_unchanged,
        kind in ('policy', 'preference') and row_number() over (
          partition by kind, site_id, day order by bool_or(is_held) desc, sum(records) desc, value collate "C"
        ) > ${maxGroupsPerDay} as is_other
      from with_held group by kind, site_id, value, day
    ), changes as (
      select kind, site_id, case when is_other then ${otherGroups} else value end as value, day, ${sums},
        case when is_other then 0 else sum(new_persons) end as new_persons,
        case when is_other then '{}' else max(previous_days) end as previous_days,
        case when is_other then '{}' else max(persons_until) end as persons_until
      from ranked where not is_unchanged group by kind, site_id, 3, day, is_other
    )`
}
