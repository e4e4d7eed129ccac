import type { Sql } from 'postgres'
import { parseValidity } from '../../src/contract/validity.ts'
import { system } from '../../src/evidence/chain.ts'
import type { StateRow } from '../consents/rows.ts'
import { deleteBatch } from '../consents/service.ts'
import { bisect } from '../db/bisect.ts'
import { findHolds } from '../holds/held.ts'
import { lastIdAt, noId } from '../ids.ts'
import { type Pace, pauseAfter } from '../pace.ts'
import { dayMs, Failures } from './failures.ts'
import { findExpired, listRetained, listRetentionSites, type Place, type RetentionSite } from './retention-queries.ts'

const sitesPerPage = 100
const recordsPerPage = 200

/** Returns the number of records by account. */
export async function deleteExpired(sql: Sql, pace: Pace, failures: Failures): Promise<Map<string, number>> {
  return await forEachPage(sql, { signal: pace.signal, failures }, async (site, ids) => {
    const start = performance.now()
    const findHold = await findHolds(sql, site.account_id)
    const rows = (await findExpired(sql, site, ids)).filter(row => !findHold(row))
    const deleteRows = (rows: readonly StateRow[]) => deleteBatch(sql, site.account_id, rows, system)
    const onFailure = (id: string, error: unknown) =>
      failures.add(`the record ${id} of the account ${site.account_id}`, error)
    const deleted = rows.length === 0 ? [] : await bisect(rows, deleteRows, onFailure)
    await pauseAfter(start, pace)
    return deleted.flat().length
  })
}

export async function countExpired(sql: Sql, signal: AbortSignal): Promise<Map<string, number>> {
  const failures = new Failures()
  const counts = await forEachPage(sql, { signal, failures }, async (_, ids) => ids.length)
  failures.throwIfAny()
  return counts
}

async function forEachPage(
  sql: Sql,
  { signal, failures }: { readonly signal: AbortSignal; readonly failures: Failures },
  run: (site: RetentionSite, ids: readonly string[]) => Promise<number>,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for await (const site of readSites(sql)) {
    try {
      for await (const ids of readExpired(sql, site)) {
        if (signal.aborted) return counts
        const count = await run(site, ids)
        if (count > 0) counts.set(site.account_id, (counts.get(site.account_id) ?? 0) + count)
      }
    } catch (error) {
      failures.add(`the site ${site.id} of the account ${site.account_id}`, error)
    }
  }
  return counts
}

async function* readSites(sql: Sql): AsyncGenerator<RetentionSite> {
  let after = { account_id: noId, id: noId }
  for (;;) {
    const sites = await listRetentionSites(sql, after, sitesPerPage)
    yield* sites
    if (sites.length < sitesPerPage) return
    after = sites.at(-1) ?? after
  }
}

/** Later than any start whose period has ended: months differ in length. */
function latestStart(period: string): Date {
  const { months, days } = parseValidity(period) ?? { months: 0, days: 0 }
  const start = new Date()
  start.setUTCMonth(start.getUTCMonth() - months)
  return new Date(start.getTime() + (4 - days) * dayMs)
}

/** Yields pages of ids, until records are too young to be expired. */
async function* readExpired(sql: Sql, site: RetentionSite): AsyncGenerator<readonly string[]> {
  const start = latestStart(site.retention.period)
  const last = { at: start.toISOString(), id: lastIdAt(start.getTime()) }
  let after: Place = { at: '-infinity', id: noId }
  for (;;) {
    const rows = await listRetained(sql, site, { after, last }, recordsPerPage)
    const ids = rows.filter(row => row.is_expired).map(row => row.id)
    if (ids.length > 0) yield ids
    if (rows.length < recordsPerPage) return
    after = rows.at(-1) ?? after
  }
}
