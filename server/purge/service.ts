import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { AccountPurge } from '../../src/contract/index.ts'
import { hashHistory, hashRecord, newSalt, system } from '../../src/evidence/chain.ts'
import { nextLink } from '../consents/batch.ts'
import { day, noId, type Pace, rest } from './pace.ts'
import type { DueRow, LeftRow, PurgeLink } from './queries.ts'
import * as queries from './queries.ts'
import { countExpired, expire } from './retention.ts'

const accountsAtOnce = 100
const recordsAtOnce = 200

/** Audit entries that one statement strips, of all its records: each may hold 16 KiB of preferences. */
export const entriesAtOnce = 2000

/** How often in a row a batch may find all of its records in other hands before they are left to those. */
const patience = 20

export interface PurgeOptions extends Pace {
  /** Records that were deleted later are kept; all of them where null. */
  readonly before: Date | null
}

/** Also what another node's clock, which is ahead, has deleted. */
const endOfTime = new Date('9999-12-31T00:00:00Z')

/** By when a record must have been deleted to be purged after so many days; after none, whatever is deleted is. */
export function purgeBefore(days: number): Date {
  return days === 0 ? endOfTime : new Date(Date.now() - days * day)
}

/**
 * What a purge would do, account by account. Where it takes whatever is deleted, those that it deletes itself count as
 * purged too.
 */
export async function countPurge(sql: Sql, before: Date, signal: AbortSignal): Promise<AccountPurge[]> {
  const expired = await countExpired(sql, signal)
  const purged = new Map<string, number>(before === endOfTime ? expired : [])
  for await (const accountId of dueAccounts(sql, before)) {
    if (signal.aborted) break
    purged.set(accountId, (purged.get(accountId) ?? 0) + (await queries.countDue(sql, accountId, before)))
  }
  const accounts = [...new Set([...expired.keys(), ...purged.keys()])]
  return accounts.map(account_id => ({
    account_id,
    expired: expired.get(account_id) ?? 0,
    purged: purged.get(account_id) ?? 0,
  }))
}

/**
 * Deletes what sites do not keep any longer, then purges what is due in every account, in batches of one statement each: it
 * can be stopped, or killed, between and inside any two, and several may be at it. Yields what was done account by account.
 */
export async function* purge(sql: Sql, options: PurgeOptions): AsyncGenerator<AccountPurge> {
  const { before, signal } = options
  const expired = await expire(sql, options)
  for await (const account_id of dueAccounts(sql, before)) {
    if (signal.aborted || !before) break
    const purged = await purgeAccount(sql, account_id, before, options)
    const own = { account_id, expired: expired.get(account_id) ?? 0, purged }
    expired.delete(account_id)
    if (own.expired + own.purged > 0) yield own
  }
  for (const [account_id, count] of expired) yield { account_id, expired: count, purged: 0 }
}

async function* dueAccounts(sql: Sql, before: Date | null): AsyncGenerator<string> {
  let after = noId
  if (!before) return
  for (;;) {
    const ids = await queries.findDueAccounts(sql, before, after, accountsAtOnce)
    yield* ids
    if (ids.length < accountsAtOnce) return
    after = ids.at(-1) ?? after
  }
}

async function purgeAccount(sql: Sql, accountId: string, before: Date, pace: Pace): Promise<number> {
  let purged = 0
  for (let idle = 0; idle < patience && !pace.signal.aborted; ) {
    const start = performance.now()
    const due = await queries.findDue(sql, accountId, before, recordsAtOnce)
    if (due.length === 0) break
    const done = await purgeBatch(sql, accountId, due)
    purged += done.purged
    idle = done.isIdle ? idle + 1 : 0
    if (done.isIdle) await delay(50 * Math.random()) // others are at every one of them
    await rest(pace, start)
  }
  return purged
}

/** One batch of what is due, as far as one statement takes it. */
async function purgeBatch(sql: Sql, accountId: string, due: readonly DueRow[]) {
  const begun = due.find(row => row.is_begun)
  if (begun) {
    await queries.purgeMore(sql, accountId, begun, entriesAtOnce)
    return { purged: 0, isIdle: false }
  }
  const links = linksOf(sql, accountId, withinReach(due))
  const purged = await queries.purgeRecords(sql, accountId, await links, entriesAtOnce)
  return { purged, isIdle: purged === 0 }
}

/** The first of them, up to as many audit entries as one statement strips; a longer history comes alone. */
function withinReach(due: readonly DueRow[]): DueRow[] {
  let entries = 0
  return due.filter((row, index) => {
    entries += row.version
    return index === 0 || entries <= entriesAtOnce
  })
}

async function linksOf(sql: Sql, accountId: string, due: readonly DueRow[]): Promise<PurgeLink[]> {
  const histories = new Map<string, LeftRow[]>(due.map(({ id }) => [id, []]))
  for (const entry of await queries.findLeft(sql, accountId, [...histories.keys()]))
    histories.get(entry.consent_id)?.push(entry)
  return due.map(row => purgeLink(row, histories.get(row.id) ?? []))
}

/** What is left of the record and of its history goes into the entry, for nothing else can vouch for it any more. */
function purgeLink(row: DueRow, history: readonly LeftRow[]): PurgeLink {
  const { site_id, country, region, accepted, policy_version } = row
  const gone = { consent_id: null, subject_id: null, user_agent: null, ip_network: null }
  const salt = newSalt()
  const recordHash = hashRecord({ site_id, country, region, ...gone }, salt)
  const state = { accepted, policy_version, preferences: {} }
  const historyHash = hashHistory(history)
  return {
    ...nextLink(row, system, { action: 'purged', state, recordHash, historyHash }, salt),
    recordHash,
    createdAt: row.created_at,
  }
}
