import type { Fragment, Sql } from 'postgres'
import type { Actor } from '../../src/evidence/chain.ts'
import { among, auditAndLog, linksAndLocks } from '../consents/queries.ts'
import type { BatchLink, StateRow } from '../consents/rows.ts'
import { toArrayLiteral, toColumn } from '../db/fragments.ts'
import { andReached, type Reach } from '../db/reach.ts'

export interface Grants {
  readonly subjectId: string
  readonly purposes: readonly string[]
  readonly siteId: string | undefined
  readonly ids: readonly string[] | undefined
  readonly after: string | undefined
}

/** A live record that grants one of the purposes. */
export interface GrantingRow extends StateRow {
  site_id: string
  notice_entry: number | null
}

/** Condition on a live record. */
function ofSubject(sql: Sql, reach: Reach, { subjectId, siteId }: Grants): Fragment {
  const onSite = siteId === undefined ? sql`true` : sql`site_id = ${siteId}::uuid`
  return sql`account_id = ${reach.accountId} ${andReached(sql, reach)} and subject_id = ${subjectId} and deleted_at is null
    and ${onSite}`
}

/** As `purposeState` has it: accepted, and true. */
function grantsAny(sql: Sql, { purposes }: Grants): Fragment {
  const granting = purposes.map(purpose => JSON.stringify({ [purpose]: true }))
  return sql`(accepted and preferences @> any (${toArrayLiteral(granting)}::jsonb[]))`
}

function isSelected(sql: Sql, { ids, after }: Grants): Fragment {
  const isNamed = ids === undefined ? sql`true` : sql`id = any (${toArrayLiteral(ids)}::uuid[])`
  return after === undefined ? isNamed : sql`(${isNamed} and id > ${after}::uuid)`
}

export function findGranting(
  sql: Sql,
  reach: Reach,
  grants: Grants,
  { skip, limit }: { readonly skip: Iterable<string>; readonly limit: number },
): Promise<GrantingRow[]> {
  return sql<GrantingRow[]>`
    select id, version, chain_head, updated_at, accepted, preferences, policy_version, site_id, notice_entry
    from consents
    where ${ofSubject(sql, reach, grants)} and ${grantsAny(sql, grants)} and ${isSelected(sql, grants)}
      and id <> all (${toArrayLiteral([...skip])}::uuid[])
    order by id limit ${limit}`
}

export interface GrantCounts {
  live: number
  granting: number
  /** Of the granting ones, those that were to be changed. */
  selected: number
  not_answered: number
  /** False if the account does not have the site. */
  has_site: boolean
}

export async function countGrants(sql: Sql, reach: Reach, grants: Grants): Promise<GrantCounts> {
  const isUnanswered = grants.purposes
    .map(purpose => sql`coalesce(jsonb_typeof(preferences -> ${purpose}::text), '') <> 'boolean'`)
    .reduce((any, one) => sql`${any} or ${one}`)
  const { siteId } = grants
  const hasSite =
    siteId === undefined
      ? sql`true`
      : sql`exists (
          select 1 from sites s
          where s.account_id = ${reach.accountId} and s.id = ${siteId}::uuid ${andReached(sql, reach, sql`s.id`)})`
  const [counts] = await sql<GrantCounts[]>`
    select count(*)::integer as live,
      (count(*) filter (where ${grantsAny(sql, grants)}))::integer as granting,
      (count(*) filter (where ${grantsAny(sql, grants)} and ${isSelected(sql, grants)}))::integer as selected,
      (count(*) filter (where accepted and (${isUnanswered})))::integer as not_answered, ${hasSite} as has_site
    from consents where ${ofSubject(sql, reach, grants)}`
  return counts ?? { live: 0, granting: 0, selected: 0, not_answered: 0, has_site: false }
}

export interface WithdrawalLink extends BatchLink {
  /** Purposes that are turned off. */
  readonly purposes: readonly string[]
  readonly accepted: boolean
  readonly expiresAt: Date | null
}

export interface ChangedRow {
  id: string
  site_id: string
  at: Date
}

/** Returns the changed records, without those changed by others since they were read, and locked ones. */
export function withdrawRecords(
  sql: Sql,
  accountId: string,
  links: readonly WithdrawalLink[],
  actor: Actor,
): Promise<ChangedRow[]> {
  const off = links.map(({ purposes }) => JSON.stringify(Object.fromEntries(purposes.map(each => [each, false]))))
  return sql<ChangedRow[]>`
    with ${linksAndLocks(sql, accountId, links, sql`deleted_at is null`)}, states as (
      select * from unnest(
        ${toArrayLiteral(links.map(({ id }) => id))}::uuid[],
        ${toArrayLiteral(links.map(({ accepted }) => accepted))}::boolean[], ${toArrayLiteral(off)}::jsonb[],
        ${toColumn(links.map(({ expiresAt }) => expiresAt))}::timestamptz[]
      ) as states (id, accepted, turned_off, expires_at)
    ), changed as (
      update consents c set
        version = l.version + 1, chain_head = l.hash, updated_at = l.at, accepted = s.accepted,
        preferences = c.preferences || s.turned_off, expires_at = s.expires_at, gpc = null, request_hash = null
      from locked join links l on l.id = locked.id join states s on s.id = locked.id
      where c.account_id = ${accountId} and c.id = locked.id and c.version = l.version
        and ${among(sql, sql`c.id`, links)}
      returning c.*
    ), ${auditAndLog(sql, accountId, { action: 'updated', actor })}
    select id, site_id, updated_at as at from changed`
}
