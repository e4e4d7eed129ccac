import type { Sql } from 'postgres'
import { system } from '../../src/evidence/chain.ts'
import type { StateRow } from '../consents/rows.ts'
import { deleteBatch } from '../consents/service.ts'
import { lastIdAt } from '../ids.ts'
import { day, noId, type Pace, rest } from './pace.ts'
import { Failures, piecewise } from './piecewise.ts'
import { findExpired, findSites, type RetentionSite, walkLive } from './queries.ts'

const sitesAtOnce = 100
const recordsAtOnce = 200

/**
 * Deletes, in the name of the service, the live records that are older than their sites keep them. Resolves to how many
 * that was by account; what failed is noted.
 */
export async function expire(sql: Sql, pace: Pace, failures: Failures): Promise<Map<string, number>> {
  const remove = ({ account_id }: RetentionSite, rows: readonly StateRow[]) =>
    piecewise(
      rows,
      part => deleteBatch(sql, account_id, part, system),
      (id, error) => failures.note(`the record ${id} of the account ${account_id}`, error),
    )
  return await overSites(sql, { signal: pace.signal, failures }, async (site, ids) => {
    const start = performance.now()
    const rows = await findExpired(sql, site, ids)
    const removed = rows.length > 0 ? await remove(site, rows) : []
    await rest(pace, start)
    return removed.flat().length
  })
}

/** How many it would delete. */
export async function countExpired(sql: Sql, signal: AbortSignal): Promise<Map<string, number>> {
  const failures = new Failures()
  const counts = await overSites(sql, { signal, failures }, async (_, ids) => ids.length)
  failures.throwAny()
  return counts
}

/** Gives the expired records of each site to some work, batch by batch, and adds up what it says by account. */
async function overSites(
  sql: Sql,
  { signal, failures }: { readonly signal: AbortSignal; readonly failures: Failures },
  work: (site: RetentionSite, ids: readonly string[]) => Promise<number>,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for await (const site of sitesOf(sql)) {
    try {
      for await (const ids of expiredOf(sql, site)) {
        if (signal.aborted) return counts
        const count = await work(site, ids)
        if (count > 0) counts.set(site.account_id, (counts.get(site.account_id) ?? 0) + count)
      }
    } catch (error) {
      failures.note(`the site ${site.id} of the account ${site.account_id}`, error)
    }
  }
  return counts
}

async function* sitesOf(sql: Sql): AsyncGenerator<RetentionSite> {
  let after = { account_id: noId, id: noId }
  for (;;) {
    const sites = await findSites(sql, after, sitesAtOnce)
    yield* sites
    if (sites.length < sitesAtOnce) return
    after = sites.at(-1) ?? after
  }
}

/**
 * The ids of the records that a site keeps no longer, as it says while they are found. Its ids are in the order of their
 * making, so the walk ends with the last that was made so long ago; it passes over those that were changed since.
 */
async function* expiredOf(sql: Sql, site: RetentionSite): AsyncGenerator<readonly string[]> {
  const last = lastIdAt(Date.now() - site.retention_days * day)
  let after = noId
  for (;;) {
    const rows = await walkLive(sql, site, { after, last }, recordsAtOnce)
    const ids = rows.filter(row => row.is_expired).map(row => row.id)
    if (ids.length > 0) yield ids
    if (rows.length < recordsAtOnce) return
    after = rows.at(-1)?.id ?? after
  }
}
