import type { Fragment, Sql } from 'postgres'
import type { Retention } from '../../src/contract/index.ts'
import type { StateRow } from '../consents/rows.ts'
import { toArrayLiteral } from '../db/fragments.ts'
import { isGiven, namedPurposes } from '../stats/changes.ts'

export interface RetentionSite {
  account_id: string
  id: string
  retention: Retention
}

export interface Place {
  /** `expires_at` as text, which has no fewer digits than the column; it orders the records only after `expiry`. */
  readonly at: string
  readonly id: string
}

interface RetainedRow extends Place {
  is_expired: boolean
}

export function listRetentionSites(
  sql: Sql,
  after: Pick<RetentionSite, 'account_id' | 'id'>,
  limit: number,
): Promise<RetentionSite[]> {
  return sql<RetentionSite[]>`
    select account_id, id, retention from sites
    where retention is not null and (account_id, id) > (${after.account_id}, ${after.id})
    order by account_id, id limit ${limit}`
}

/**
 * Live records of a site, by index: those whose period may have ended if it did for the id or the time `last`, and
 * changed ones. Returns none if the site's retention counts from another event now.
 */
export function listRetained(
  sql: Sql,
  site: RetentionSite,
  { after, last }: { readonly after: Place; readonly last: Place },
  limit: number,
): Promise<RetainedRow[]> {
  return sql<RetainedRow[]>`
    select t.id, coalesce(t.expires_at::text, '') as at, ${isExpired(sql, site)} as is_expired
    from (${candidates(sql, site, { after, last }, limit)}) t
    join sites s on s.account_id = ${site.account_id} and s.id = ${site.id}
    where s.retention->>'after' = ${site.retention.after}
    order by ${site.retention.after === 'expiry' ? sql`t.expires_at, t.id` : sql`t.id`} limit ${limit}`
}

function candidates(
  sql: Sql,
  { account_id, id, retention }: RetentionSite,
  { after, last }: { readonly after: Place; readonly last: Place },
  limit: number,
): Fragment {
  const live = sql`from consents where account_id = ${account_id} and site_id = ${id} and deleted_at is null`
  if (retention.after === 'expiry')
    return sql`
      select id, expires_at ${live} and accepted and expires_at <= ${last.at}::text::timestamptz
        and (expires_at, id) > (${after.at}::text::timestamptz, ${after.id}::uuid)
      order by expires_at, id limit ${limit}`
  if (retention.after === 'withdrawal')
    return sql`
      select id, expires_at, ${namedPurposes(sql, account_id, sql`consents`)} as named ${live} and version > 1
        and id > ${after.id}
      order by id limit ${limit}`
  // The index stores accepted and refused records separately.
  const run = (answer: Fragment) => sql`(
    select id, accepted, notice_entry, expires_at, created_at, updated_at ${live} and ${answer}
      and id > ${after.id} and id <= ${last.id}
    order by id limit ${limit})`
  return sql`${run(sql`accepted`)} union all ${run(sql`not accepted`)}`
}

/** Condition on a record `t`. Uses the slower of the node's and the database's clock. */
function isExpired(sql: Sql, { account_id, retention: { after } }: RetentionSite): Fragment {
  const now = sql`least(now(), ${new Date()}::timestamptz)`
  const isOver = (start: Fragment) => sql`coalesce(
    (${start}) at time zone 'UTC' + (s.retention->>'period')::interval <= ${now} at time zone 'UTC', false)`
  if (after === 'withdrawal') return isOver(withdrawal(sql, account_id))
  if (after === 'expiry') return isOver(sql`t.expires_at`)
  const isValid = sql`t.accepted and t.notice_entry is not null and coalesce(t.expires_at > ${now}, true)`
  return sql`(${isOver(after === 'creation' ? sql`t.created_at` : sql`t.updated_at`)} and not (${isValid}))`
}

/** When the answer after the last that gave the consent was given; null if the last one gives it, or none did. */
function withdrawal(sql: Sql, accountId: string): Fragment {
  return sql`
    select coalesce(w.given_at, w.created_at) from consent_history w
    where w.account_id = ${accountId} and w.consent_id = t.id and w.version = 1 + (
      select h.version from consent_history h
      where h.account_id = ${accountId} and h.consent_id = t.id and ${isGiven(sql, accountId, sql`h`)}
      order by h.version desc limit 1)`
}

export function findExpired(
  sql: Sql,
  site: RetentionSite,
  ids: readonly string[],
): Promise<(StateRow & { readonly subject_id: string | null })[]> {
  const { account_id, id, retention } = site
  const named = retention.after === 'withdrawal' ? sql`${namedPurposes(sql, account_id, sql`consents`)}` : sql`null`
  return sql<(StateRow & { subject_id: string | null })[]>`
    select t.id, t.subject_id, t.version, t.chain_head, t.updated_at, t.accepted, t.preferences, t.policy_version
    from (
      select id, subject_id, version, chain_head, created_at, updated_at, expires_at, accepted, preferences, policy_version, notice_entry,
        ${named} as named
      from consents
      where account_id = ${account_id} and id = any (${toArrayLiteral(ids)}::uuid[]) and site_id = ${id}
        and deleted_at is null
    ) t join sites s on s.account_id = ${account_id} and s.id = ${id}
    where s.retention->>'after' = ${retention.after} and ${isExpired(sql, site)}`
}
