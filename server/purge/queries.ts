import type { Fragment, Sql } from 'postgres'
import type { AccountPurge } from '../../src/contract/index.ts'
import type { Actor, Sealed } from '../../src/evidence/chain.ts'
import { type Administrator, auditEntry, lockedAccount, target } from '../audit/entries.ts'
import { among, auditAndLog, linksAndLocks } from '../consents/queries.ts'
import type { BatchLink, ChainRow } from '../consents/rows.ts'
import { toArrayLiteral } from '../db/fragments.ts'
import { stands } from '../holds/queries.ts'

export interface DueRow extends Pick<ChainRow, 'id' | 'version'> {
  subject_id: string | null
  /** Text, because a Date has fewer digits and no infinity. */
  deleted_at: string
}

/** A record whose sealed proof has ended. */
export interface SealedRow extends Pick<ChainRow, 'id' | 'version'> {
  readonly subject_hmac: string
  readonly until: string
}

export interface PurgeLink extends BatchLink {
  readonly recordHash: Buffer
  readonly createdAt: Date
  readonly sealed: Sealed | null
}

/** Of records; null is none. */
function isDue(sql: Sql, before: Date | null) {
  return before === null ? sql`false` : sql`deleted_at is not null and purged_at is null and deleted_at <= ${before}`
}

/** With records that are due, or sealed proofs that have ended. */
export async function findDueAccounts(
  sql: Sql,
  { before, now }: { readonly before: Date | null; readonly now: Date },
  after: string,
  limit: number,
): Promise<string[]> {
  const having = (condition: Fragment) => sql`(
    select account_id from accounts a where account_id > ${after} and exists (${condition})
    order by account_id limit ${limit})`
  const rows = await sql<{ account_id: string }[]>`
    ${having(sql`select 1 from consents c where c.account_id = a.account_id and ${isDue(sql, before)}`)}
    union ${having(sql`select 1 from consent_history h where h.account_id = a.account_id and ${hasEnded(sql, now)}`)}
    order by account_id limit ${limit}`
  return rows.map(row => row.account_id)
}

export type Purged = Pick<AccountPurge, 'purged' | 'proofs'>

export async function countDue(
  sql: Sql,
  accountId: string,
  { before, now }: { readonly before: Date; readonly now: Date },
): Promise<Purged> {
  const [row] = await sql<Purged[]>`
    select (select count(*)::integer from consents where account_id = ${accountId} and ${isDue(sql, before)}) as purged,
      (select count(*)::integer from consent_history h where h.account_id = ${accountId} and ${hasEnded(sql, now)}) as proofs`
  return row ?? { purged: 0, proofs: 0 }
}

export function findDue(
  sql: Sql,
  accountId: string,
  { before, after }: { readonly before: Date; readonly after: DueRow | null },
  limit: number,
): Promise<DueRow[]> {
  return sql<DueRow[]>`
    select id, version, subject_id, deleted_at::text as deleted_at from consents
    where account_id = ${accountId} and ${isDue(sql, before)}
      ${after ? sql`and (consents.deleted_at, id) > (${after.deleted_at}::text::timestamptz, ${after.id}::uuid)` : sql``}
    order by consents.deleted_at, id limit ${limit}`
}

export function findNamed(sql: Sql, accountId: string, ids: readonly string[]): Promise<DueRow[]> {
  return sql<DueRow[]>`
    select id, version, subject_id, deleted_at::text as deleted_at from consents
    where account_id = ${accountId} and id = any (${toArrayLiteral(ids)}::uuid[])
      and consents.deleted_at is not null and purged_at is null
    order by id`
}

/** Of entries `h`. */
function hasEnded(sql: Sql, now: Date) {
  return sql`h.sealed is not null and (h.sealed->>'until') collate "C" <= ${now.toISOString()}::text collate "C"`
}

export function findSealed(
  sql: Sql,
  accountId: string,
  { now, after }: { readonly now: Date; readonly after: SealedRow | null },
  limit: number,
): Promise<SealedRow[]> {
  return sql<SealedRow[]>`
    select s.consent_id as id, c.version, s.subject_hmac, s.until
    from (
      select h.consent_id, h.sealed->>'subject_hmac' as subject_hmac, (h.sealed->>'until') collate "C" as until
      from consent_history h where h.account_id = ${accountId} and ${hasEnded(sql, now)}
        ${after ? sql`and ((h.sealed->>'until') collate "C", h.consent_id) > (${after.until}::text collate "C", ${after.id}::uuid)` : sql``}
      order by (h.sealed->>'until') collate "C", h.consent_id limit ${limit}
    ) s
    cross join lateral (
      select version from consents where account_id = ${accountId} and id = s.consent_id offset 0
    ) c
    order by s.until, s.consent_id`
}

/**
 * Strips records, without changed and locked ones, and begins the purge of their histories; none if there is a hold that
 * is not one of the known. Idempotency keys and origins stay, so that no retry or import creates a record again.
 */
export async function purgeRecords(
  sql: Sql,
  accountId: string,
  links: readonly PurgeLink[],
  { actor, by, at, holds }: PurgeEvent,
): Promise<void> {
  const [ids, hashes] = [links.map(({ id }) => id), links.map(({ recordHash }) => recordHash)]
  await sql`
    with ${linksAndLocks(sql, accountId, links, sql`deleted_at is not null and ${hasNoOther(sql, accountId, holds)}`)},
    hashes as (
      select * from unnest(${toArrayLiteral(ids)}::uuid[], ${toArrayLiteral(hashes)}::bytea[]) as hashes (id, record_hash)
    ), changed as (
      update consents c set
        consent_id = null, subject_id = null, near_subject = null, user_agent = null, ip_network = null, notice_locale = null,
        origin_id = null, origin_evidence = null, request_hash = null, preferences = '{}', version = l.version + 1, record_hash = r.record_hash, chain_head = l.hash, updated_at = l.at, purged_at = null
      from locked join links l on l.id = locked.id join hashes r on r.id = locked.id
      where c.account_id = ${accountId} and c.id = locked.id and c.version = l.version
        and ${among(sql, sql`c.id`, links)}
      returning c.*
    ), keys as (
      update idempotency_keys k set body_hash = '' from changed c
      where k.account_id = ${accountId} and k.created_at = c.created_at and k.consent_id = c.id
        and k.created_at = any (${toArrayLiteral(links.map(link => link.createdAt))}::timestamptz[])
    ), origins_kept as (
      update origins o set body_hash = null from changed c
      where o.account_id = ${accountId} and o.consent_id = c.id and ${among(sql, sql`o.consent_id`, links)}
    ), ${auditAndLog(sql, accountId, { action: 'purged', actor, sealed: sql`l.sealed` })}, ${lockedAccount(sql, accountId)}, change as (
      select ${target(sql, 'account', accountId)} as target, null::jsonb as before,
        jsonb_build_object('records', count(*)) as after
      from changed having count(*) > 0
    ), ${auditEntry(sql, { accountId, actor: by, action: 'records_purged', at })}
    select 1 from account`
}

interface PurgeEvent {
  readonly actor: Actor
  readonly by: Administrator
  readonly at: Date
  /** Those that were known when the records were chosen. */
  readonly holds: readonly string[]
}

function hasNoOther(sql: Sql, accountId: string, holds: readonly string[]): Fragment {
  return sql`not exists (
    select 1 from holds h
    where h.account_id = ${accountId} and ${stands(sql)} and h.id <> all (${toArrayLiteral(holds)}::uuid[]))`
}

interface Stripped {
  /** Entries. */
  readonly stripped: number
  /** Records whose purge is complete. */
  readonly completed: number
}

/** Continues the begun purges of records by `reach` entries. Skips those that another node continues. */
export async function stripHistory(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  reach: number,
): Promise<Stripped> {
  const [row] = await sql<{ done: Stripped }[]>`
    select strip_history(${accountId}, ${toArrayLiteral(ids)}::uuid[], ${reach}) as done`
  return row?.done ?? { stripped: 0, completed: 0 }
}

/** Refreshes `pg_statistic`, which keeps sample values of purged columns. */
export async function refreshStatistics(sql: Sql): Promise<void> {
  await sql.begin(async tx => {
    await tx`set local statement_timeout = 0`
    await tx`select analyze_purged()`
  })
}
