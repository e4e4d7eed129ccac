import type { Sql } from 'postgres'
import { type AccountPurge, type DatabaseFinding, OperatorError } from '../../src/contract/index.ts'
import { endOfConsent } from '../../src/contract/validity.ts'
import {
  type Actor,
  findDeletion,
  hashHistory,
  hashRecord,
  newSalt,
  type Sealed,
  showSealed,
  system,
} from '../../src/evidence/chain.ts'
import { type Administrator, administrator } from '../audit/entries.ts'
import { deleteReads } from '../audit/read-queries.ts'
import type { Job } from '../background-jobs.ts'
import type { Config } from '../config.ts'
import { nextLink } from '../consents/service.ts'
import { bisect } from '../db/bisect.ts'
import { dbErrorCode } from '../db/errors.ts'
import { findSecret } from '../db/secrets.ts'
import { checkClock } from '../health/monitor.ts'
import { findHolds } from '../holds/held.ts'
import { noId } from '../ids.ts'
import { type Pace, pauseAfter } from '../pace.ts'
import { countBeforePurge } from '../stats/counting.ts'
import { type SubjectSecret, standInOf } from '../subjects/hmac.ts'
import { inspectRecords, maxEntriesPerPurge, type Stored } from '../verify/records.ts'
import { dayMs, Failures } from './failures.ts'
import type { DueRow, PurgeLink, SealedRow } from './queries.ts'
import * as queries from './queries.ts'
import { countExpired, deleteExpired } from './retention.ts'

/** Without personal data. */
type OnProblem = (problem: string) => Promise<void> | void

interface Order extends Pace {
  readonly actor: Actor
  readonly by: Administrator
  /** Those that the records are free of. */
  readonly holds: readonly string[]
  readonly onProblem: OnProblem
}

function toProblem(subject: string, error: unknown): string {
  return `${subject}: ${dbErrorCode(error) ?? (error as Error).message}`
}

interface Batch {
  readonly purged: number
  readonly unverified: readonly DatabaseFinding[]
}

/**
 * Skips records whose history does not verify: a purge would destroy the evidence. Tampering after verification is
 * harmless: the rest is hashed as verified.
 */
async function purgeBatch(
  sql: Sql,
  accountId: string,
  due: readonly (DueRow | SealedRow)[],
  order: Order,
): Promise<Batch> {
  const byId = new Map(due.map(row => [row.id, row]))
  const records: VerifiedRecord[] = []
  const unverified = new Map<string, DatabaseFinding>()
  const range = { ids: [...byId.keys()], keepsAnswers: true }
  for await (const { verified, findings } of inspectRecords(sql, accountId, range)) {
    records.push(...verified.flatMap(stored => toPurge(stored, byId.get(stored.id))))
    for (const finding of findings) if (!unverified.has(finding.consent_id)) unverified.set(finding.consent_id, finding)
  }
  return { purged: await purgeVerified(sql, accountId, records, order), unverified: [...unverified.values()] }
}

/** Returns none if the record was changed since it was found, other than by the purge's beginning. */
function toPurge({ record, entries, answers }: Stored, row: DueRow | SealedRow | undefined): VerifiedRecord[] {
  if (!record || !row) return []
  const last = entries.at(-1)
  const isPurge = last?.action === 'purged'
  const isBegun = isPurge && record.purged_at === null
  const isSame = record.version === row.version || (isBegun && record.version === row.version + 1)
  const isDone = isPurge && !isBegun && !('until' in row && last.sealed)
  return isSame && !isDone ? [{ record, entries, answers, isBegun }] : []
}

async function purgeVerified(
  sql: Sql,
  accountId: string,
  records: readonly VerifiedRecord[],
  order: Order,
): Promise<number> {
  const fresh = records.filter(({ isBegun }) => !isBegun)
  if (fresh.length > 0) {
    if (!(await tryToCount(sql, accountId, fresh, order))) return 0
    const { actor, by, holds } = order
    const secret = await findSubjectSecret(sql, fresh)
    const links = fresh.map(record => purgeLink(record, actor, seal(record, accountId, secret)))
    await queries.purgeRecords(sql, accountId, links, { actor, by, holds, at: new Date() })
  }
  const ids = records.map(({ record }) => record.id)
  return ids.length > 0 ? await stripHistories(sql, accountId, ids, order) : 0
}

/** Reports a failure without delaying the purge. Returns false if the job is stopped: its next run counts them. */
async function tryToCount(
  sql: Sql,
  accountId: string,
  records: readonly VerifiedRecord[],
  { signal, onProblem, actor }: Order,
): Promise<boolean> {
  const ids = records.map(({ record }) => record.id)
  try {
    await countBeforePurge(sql, accountId, ids, signal)
  } catch (error) {
    if (signal.aborted && actor.kind === 'system') return false
    await onProblem(
      toProblem(`the statistics of the account ${accountId} may lack ${ids.length} purged records`, error),
    )
  }
  return true
}

/** Returns the number of records whose purge is complete. */
async function stripHistories(sql: Sql, accountId: string, ids: readonly string[], pace: Pace): Promise<number> {
  for (let purged = 0; ; ) {
    const start = performance.now()
    const { stripped, completed } = await queries.stripHistory(sql, accountId, ids, maxEntriesPerPurge)
    purged += completed
    if (stripped < maxEntriesPerPurge || pace.signal.aborted) return purged
    await pauseAfter(start, pace)
  }
}

/** Returns as many records as one statement can strip, or one with a longer history. */
function withinReach<Row extends Pick<DueRow, 'version'>>(due: readonly Row[]): Row[] {
  let entries = 0
  return due.filter((row, index) => {
    entries += row.version
    return index === 0 || entries <= maxEntriesPerPurge
  })
}

interface VerifiedRecord extends Pick<Stored, 'entries' | 'answers'> {
  readonly record: NonNullable<Stored['record']>
  /** Its history is still to be stripped, because a purge was ended. */
  readonly isBegun: boolean
}

async function findSubjectSecret(sql: Sql, records: readonly VerifiedRecord[]): Promise<SubjectSecret | null> {
  if (!records.some(({ record }) => record.sealed_proof !== null && record.subject_id !== null)) return null
  const subjectSecret = await findSecret(sql, 'subject')
  if (!subjectSecret) throw new Error('a site keeps sealed proofs, but the database lacks the secret "subject"')
  return { subjectSecret }
}

/** Null if the site kept none at the deletion, the record has no subject, or the period has ended. */
function seal(
  { record, entries, answers }: VerifiedRecord,
  accountId: string,
  secret: SubjectSecret | null,
): Sealed | null {
  const { sealed_proof: setting, subject_id } = record
  const deletion = findDeletion(entries)
  if (!secret || !setting || subject_id === null || !deletion) return null
  if (deletion.at.getTime() < Date.parse(setting.since)) return null
  const until = endOfConsent(deletion.at, setting.period)
  if (!until || until.getTime() <= Date.now()) return null
  return {
    basis: setting.basis,
    until: until.toISOString(),
    subject_hmac: standInOf(secret, { accountId }, subject_id),
    answers: answers.map(({ version, preferences }) => ({ version, preferences })),
  }
}

/** Nothing else proves the remaining data afterwards. */
function purgeLink({ record, entries }: VerifiedRecord, actor: Actor, sealed: Sealed | null): PurgeLink {
  const { site_id, country, region, notice_entry, origin_system, accepted, policy_version } = record
  const gone = { consent_id: null, subject_id: null, user_agent: null, ip_network: null }
  const salt = newSalt()
  const recordHash = hashRecord({ site_id, country, region, notice_entry, origin_system, ...gone }, salt)
  const state = { accepted, policy_version, preferences: {} }
  const historyHash = hashHistory(entries)
  const shown = sealed && { sealed: showSealed(sealed, salt, false) }
  return {
    ...nextLink(record, actor, { action: 'purged', state, recordHash, historyHash, ...shown }, salt),
    sealed,
    recordHash,
    createdAt: record.created_at,
  }
}

const minuteMs = 60_000

const accountsPerPage = 100
const recordsPerPage = 200

const maxFailures = 1000

export interface PurgeOptions extends Pace {
  readonly by?: Administrator
  /** Latest deletion to purge; null purges nothing but sealed proofs that have ended. */
  readonly before: Date | null
  /** Called for each record whose history does not verify. */
  readonly onUnverified: (finding: DatabaseFinding) => Promise<void> | void
  readonly onProblem?: OnProblem
}

/** Empty at first: an earlier process may have been killed. */
const refreshed = new WeakSet<Sql>()

/** A clock that is ahead may have dated a deletion. */
const endOfTime = new Date('9999-12-31T00:00:00Z')

/** Returns the latest deletion to purge after `days`; 0 purges everything. */
export function purgeBefore(days: number): Date {
  return days === 0 ? endOfTime : new Date(Date.now() - days * dayMs)
}

/**
 * Counts by account, including expired records to delete first.
 * @throws OperatorError if the clock is wrong
 */
export async function countPurge(sql: Sql, before: Date, signal: AbortSignal): Promise<AccountPurge[]> {
  await checkClock(sql)
  const expired = await countExpired(sql, signal)
  const due = new Map<string, queries.Purged>()
  const now = new Date()
  for await (const accountId of dueAccounts(sql, before, now)) {
    if (signal.aborted) break
    due.set(accountId, await queries.countDue(sql, accountId, { before, now }))
  }
  const accounts = [...new Set([...expired.keys(), ...due.keys()])]
  return accounts.map(account_id => {
    const own = expired.get(account_id) ?? 0
    const { purged = 0, proofs = 0 } = due.get(account_id) ?? {}
    return { account_id, expired: own, purged: purged + (before === endOfTime ? own : 0), proofs }
  })
}

/**
 * Purges in batches. Can be stopped, killed and run concurrently. @throws OperatorError if the clock is wrong, and at
 * the end if any record failed
 */
export async function* purge(sql: Sql, options: PurgeOptions): AsyncGenerator<AccountPurge> {
  const { before, signal } = options
  await checkClock(sql)
  const failures = new Failures()
  const expired = await deleteExpired(sql, options, failures)
  let total = 0
  const now = new Date()
  for await (const account_id of dueAccounts(sql, before, now)) {
    if (signal.aborted) break
    const purged = await purgeAccount(sql, account_id, now, { ...options, failures })
    total += purged.purged + purged.proofs
    const own = { account_id, expired: expired.get(account_id) ?? 0, ...purged }
    expired.delete(account_id)
    if (own.expired + own.purged + own.proofs > 0) yield own
  }
  if (total > 0 || !refreshed.has(sql)) {
    refreshed.add(sql) // before the refresh, so that a concurrent `purgeNamed` causes another one
    try {
      await queries.refreshStatistics(sql)
    } catch (error) {
      refreshed.delete(sql)
      failures.add("the planner's statistics", error)
    }
  }
  for (const [account_id, count] of expired) yield { account_id, expired: count, purged: 0, proofs: 0 }
  failures.throwIfAny()
}

async function* dueAccounts(sql: Sql, before: Date | null, now: Date): AsyncGenerator<string> {
  let after = noId
  for (;;) {
    const ids = await queries.findDueAccounts(sql, { before, now }, after, accountsPerPage)
    yield* ids
    if (ids.length < accountsPerPage) return
    after = ids.at(-1) ?? after
  }
}

/** The next run retries records that fail or are locked. */
async function purgeAccount(
  sql: Sql,
  accountId: string,
  now: Date,
  {
    by = administrator(system),
    before,
    failures,
    onUnverified,
    onProblem = () => {},
    ...pace
  }: PurgeOptions & { readonly failures: Failures },
): Promise<queries.Purged> {
  const done = { purged: 0, proofs: 0 }
  let failed = 0
  const onFailure = (id: string, error: unknown) => {
    failures.add(`the record ${id} of the account ${accountId}`, error)
    failed += 1
  }
  const purgePages = async <Row extends DueRow | SealedRow>(
    what: keyof queries.Purged,
    find: (after: Row | null) => Promise<Row[]>,
  ) => {
    for (let after: Row | null = null; failed < maxFailures && !pace.signal.aborted; ) {
      const start = performance.now()
      const due: Row[] = withinReach(await find(after))
      after = due.at(-1) ?? null
      if (!after) break
      const findHold = await findHolds(sql, accountId)
      const order = { ...pace, actor: system, by, holds: findHold.ids, onProblem }
      const free = due.filter(row => !findHold(row))
      const batches = await bisect(free, rows => purgeBatch(sql, accountId, rows, order), onFailure)
      for (const batch of batches) {
        done[what] += batch.purged
        for (const finding of batch.unverified) await onUnverified(finding)
      }
      await pauseAfter(start, pace)
    }
  }
  try {
    if (before)
      await purgePages<DueRow>('purged', after => queries.findDue(sql, accountId, { before, after }, recordsPerPage))
    await purgePages<SealedRow>('proofs', after => queries.findSealed(sql, accountId, { now, after }, recordsPerPage))
  } catch (error) {
    failures.add(`the account ${accountId}`, error)
  }
  return done
}

/** Skips live and held records, those that fail or do not verify, and those that another node is purging. */
export async function purgeNamed(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  given: Omit<Order, 'by' | 'holds'>,
): Promise<void> {
  const findHold = await findHolds(sql, accountId)
  const order = { ...given, by: administrator(given.actor), holds: findHold.ids }
  let left = (await queries.findNamed(sql, accountId, ids)).filter(row => !findHold(row))
  while (left.length > 0 && !order.signal.aborted) {
    const due = withinReach(left).slice(0, recordsPerPage)
    const onFailure = (id: string, error: unknown) => void order.onProblem(toProblem(`the record ${id} is left`, error))
    await bisect(due, rows => purgeBatch(sql, accountId, rows, order), onFailure).finally(() => refreshed.delete(sql))
    left = left.slice(due.length)
  }
}

const maxNamed = 100

const monthsOfReads = 13

function readsKeptSince(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsOfReads, now.getUTCDate()))
}

/**
 * Runs every minute if `purgeAfterDays` is 0, else hourly; if it is null, purges no records. Always deletes expired
 * records, removes sealed proofs that have ended, and deletes old rows of the access log.
 * @throws OperatorError that names the records whose history does not verify
 */
export function purgeJob(
  sql: Sql,
  { purgeAfterDays: days }: Pick<Config, 'purgeAfterDays'>,
  onProblem: OnProblem = () => {},
): Job {
  const run = async (signal: AbortSignal) => {
    const done = { deleted: 0, purged: 0, proofs: 0, reads: 0 }
    const unverified: (string | null)[] = []
    const onUnverified = ({ consent_id }: DatabaseFinding) => void unverified.push(consent_id)
    const before = days === null ? null : purgeBefore(days)
    let failure: unknown
    try {
      await checkClock(sql)
      done.reads = await deleteReads(sql, readsKeptSince(new Date()))
      for await (const account of purge(sql, { before, signal, onUnverified, onProblem, isModest: true })) {
        done.deleted += account.expired
        done.purged += account.purged
        done.proofs += account.proofs
      }
    } catch (error) {
      failure = error
    }
    if (unverified.length > 0) throw new OperatorError(unverifiedMessage(unverified, done.purged, failure))
    if (failure) throw failure
    return done.deleted + done.purged + done.proofs + done.reads > 0 ? done : null
  }
  return { name: 'purging', intervalMs: days === 0 ? minuteMs : 60 * minuteMs, run }
}

function unverifiedMessage(ids: readonly (string | null)[], purged: number, failure: unknown): string {
  const more = ids.length > maxNamed ? `, and ${ids.length - maxNamed} more` : ''
  const named = ids.slice(0, maxNamed).join(', ') + more
  const also = failure ? `; ${dbErrorCode(failure) ?? (failure as Error).message}` : ''
  return `purged ${purged} records, and skipped ${ids.length} whose history does not verify: ${named}${also}`
}
