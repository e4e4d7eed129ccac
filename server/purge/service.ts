import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { type AccountPurge, OperatorError } from '../../src/contract/index.ts'
import { hashHistory, hashRecord, newSalt, system } from '../../src/evidence/chain.ts'
import type { Job } from '../background-jobs.ts'
import type { Config } from '../config.ts'
import { nextLink } from '../consents/service.ts'
import { day, noId, type Pace, rest } from './pace.ts'
import { Failures, piecewise } from './piecewise.ts'
import type { DueRow, LeftRow, PurgeLink } from './queries.ts'
import * as queries from './queries.ts'
import { countExpired, expire } from './retention.ts'

/** Audit entries that one statement strips, of all its records: each may hold 16 KiB of preferences. */
export const entriesAtOnce = 2000

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

const minute = 60_000

/** How far the clocks of a node and of its database may be apart, in milliseconds. */
const tolerance = 5 * minute

/**
 * Throws an OperatorError where this node's clock and the database's are far apart: by the wrong one of them, what is to be
 * kept would go for good.
 */
export async function checkClock(sql: Sql): Promise<void> {
  const [row] = await sql<{ now: Date }[]>`select now() as now`
  const apart = Math.abs(Date.now() - (row?.now.getTime() ?? 0))
  if (apart <= tolerance) return
  const minutes = Math.round(apart / minute)
  throw new OperatorError(`the clocks of this machine and of the database are ${minutes} minutes apart`, {
    hint: 'set them right: by a wrong clock, records would be deleted and purged too early',
  })
}

const accountsAtOnce = 100
const recordsAtOnce = 200

/** How often in a row a batch may find all of its records in other hands before they are left to those. */
const patience = 20

/** How many of an account's records may fail before the rest of them wait for the next run. */
const most = 1000

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
 * purged too. Throws an OperatorError where the clock is not to be trusted, as the purge does.
 */
export async function countPurge(sql: Sql, before: Date, signal: AbortSignal): Promise<AccountPurge[]> {
  await checkClock(sql)
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
 * A record for which that fails is passed over, and told in an OperatorError when all else is done.
 */
export async function* purge(sql: Sql, options: PurgeOptions): AsyncGenerator<AccountPurge> {
  const { before, signal } = options
  await checkClock(sql)
  const failures = new Failures()
  const expired = await expire(sql, options, failures)
  for await (const account_id of dueAccounts(sql, before)) {
    if (signal.aborted || !before) break
    const purged = await purgeAccount(sql, account_id, before, { ...options, failures })
    const own = { account_id, expired: expired.get(account_id) ?? 0, purged }
    expired.delete(account_id)
    if (own.expired + own.purged > 0) yield own
  }
  for (const [account_id, count] of expired) yield { account_id, expired: count, purged: 0 }
  failures.throwAny()
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

/** Purges what is due in an account; resolves to how many records that was. */
async function purgeAccount(
  sql: Sql,
  accountId: string,
  before: Date,
  { failures, ...pace }: Pace & { readonly failures: Failures },
): Promise<number> {
  let purged = 0
  const passed: string[] = []
  const onBad = (id: string, error: unknown) => {
    failures.note(`the record ${id} of the account ${accountId}`, error)
    passed.push(id)
  }
  try {
    for (let idle = 0; idle < patience && passed.length < most && !pace.signal.aborted; ) {
      const start = performance.now()
      const due = await queries.findDue(sql, accountId, { before, passed }, recordsAtOnce)
      if (due.length === 0) break
      const done = await piecewise(due, rows => purgeBatch(sql, accountId, rows), onBad)
      purged += done.reduce((sum, batch) => sum + batch.purged, 0)
      const isIdle = done.every(batch => batch.isIdle)
      idle = isIdle ? idle + 1 : 0
      if (isIdle) await delay(50 * Math.random()) // others are at every one of them
      await rest(pace, start)
    }
  } catch (error) {
    failures.note(`the account ${accountId}`, error)
  }
  return purged
}

/**
 * Deletes what sites do not keep any longer, and purges what was deleted so many days ago: within a minute where that is
 * to be at once, and nothing where it is never to be.
 */
export function purgeJob(sql: Sql, { purgeAfterDays: days }: Pick<Config, 'purgeAfterDays'>): Job {
  const run = async (signal: AbortSignal) => {
    const done = { deleted: 0, purged: 0 }
    const before = days === null ? null : purgeBefore(days)
    for await (const { expired, purged } of purge(sql, { before, signal, isModest: true })) {
      done.deleted += expired
      done.purged += purged
    }
    return done.deleted + done.purged > 0 ? done : null
  }
  return { name: 'purging', every: days === 0 ? minute : 60 * minute, run }
}
