import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { AccountPurge } from '../../src/contract/index.ts'
import { hashHistory, hashRecord, newSalt, system } from '../../src/evidence/chain.ts'
import { nextLink } from '../consents/batch.ts'
import type { DueRow, LeftRow, PurgeLink } from './queries.ts'
import * as queries from './queries.ts'

const accountsAtOnce = 100
const recordsAtOnce = 200

/** Audit entries that one statement strips, of all its records: each may hold 16 KiB of preferences. */
const entriesAtOnce = 2000

/** Before the first id there is. */
const noId = '00000000-0000-0000-0000-000000000000'

/** How often in a row a batch may find all of its records in other hands before they are left to those. */
const patience = 20

export interface PurgeOptions {
  /** Records that were deleted later are kept. */
  readonly before: Date
  readonly signal: AbortSignal
  /** Leaves the database to others for as long as each batch took. */
  readonly isModest?: boolean
}

/** Also what another node's clock, which is ahead, has deleted. */
const endOfTime = new Date('9999-12-31T00:00:00Z')

const day = 24 * 60 * 60 * 1000

/** By when a record must have been deleted to be purged after so many days; after none, whatever is deleted is. */
export function purgeBefore(days: number): Date {
  return days === 0 ? endOfTime : new Date(Date.now() - days * day)
}

/** What a purge would do, account by account. */
export async function countPurge(sql: Sql, before: Date): Promise<AccountPurge[]> {
  const counts: AccountPurge[] = []
  for await (const accountId of dueAccounts(sql, before)) {
    const purged = await queries.countDue(sql, accountId, before)
    if (purged > 0) counts.push({ account_id: accountId, purged })
  }
  return counts
}

/**
 * Purges what is due in every account, in batches of one statement each: it can be stopped, or killed, between and inside
 * any two, and several may be at it. Yields what was done account by account.
 */
export async function* purge(sql: Sql, options: PurgeOptions): AsyncGenerator<AccountPurge> {
  for await (const accountId of dueAccounts(sql, options.before)) {
    if (options.signal.aborted) return
    const purged = await purgeAccount(sql, accountId, options)
    if (purged > 0) yield { account_id: accountId, purged }
  }
}

async function* dueAccounts(sql: Sql, before: Date): AsyncGenerator<string> {
  let after = noId
  for (;;) {
    const ids = await queries.findDueAccounts(sql, before, after, accountsAtOnce)
    yield* ids
    if (ids.length < accountsAtOnce) return
    after = ids.at(-1) ?? after
  }
}

async function purgeAccount(sql: Sql, accountId: string, { before, signal, isModest }: PurgeOptions) {
  let purged = 0
  for (let idle = 0; idle < patience && !signal.aborted; ) {
    const start = performance.now()
    const due = await queries.findDue(sql, accountId, before, recordsAtOnce)
    if (due.length === 0) break
    const done = await purgeBatch(sql, accountId, due)
    purged += done.purged
    idle = done.isIdle ? idle + 1 : 0
    const took = performance.now() - start
    if (isModest || done.isIdle) await delay(done.isIdle ? took + 50 * Math.random() : took)
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
  }
}
