import type { Sql } from 'postgres'
import { hashHistory, hashRecord, newSalt, system } from '../../src/evidence/chain.ts'
import { nextLink } from '../consents/batch.ts'
import type { DueRow, LeftRow, PurgeLink } from './queries.ts'
import * as queries from './queries.ts'

/** Audit entries that one statement strips, of all its records: each may hold 16 KiB of preferences. */
export const entriesAtOnce = 2000

/** One batch of what is due, as far as one statement takes it. */
export async function purgeBatch(sql: Sql, accountId: string, due: readonly DueRow[]) {
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
