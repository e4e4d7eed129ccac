import type { Sql } from 'postgres'
import { expect } from 'vitest'
import type { EntryRow } from '../../../server/consents/rows.ts'
import { purge, purgeBefore } from '../../../server/purge/service.ts'
import type { DatabaseFinding } from '../../../src/contract/index.ts'
import { chainProblems, groupBy, type Stored } from '../../e2e/ledger-check.ts'

/** Purges what was deleted `days` ago, and expects every history to verify. Returns records and ended proofs by account. */
export async function purgeNow(sql: Sql, days = 0): Promise<Map<string, number>> {
  const { counts, unverified } = await purgeVerified(sql, days)
  expect(unverified).toEqual([])
  return counts
}

/** Purges, and also returns the findings of the records that were left. */
export async function purgeVerified(sql: Sql, days = 0) {
  const counts = new Map<string, number>()
  const unverified: DatabaseFinding[] = []
  const onUnverified = (finding: DatabaseFinding) => void unverified.push(finding)
  const options = { before: purgeBefore(days), signal: new AbortController().signal, onUnverified }
  for await (const { account_id, purged, proofs } of purge(sql, options)) counts.set(account_id, purged + proofs)
  return { counts, unverified }
}

/** What is wrong with the chains of an account, a sentence each. */
export async function brokenChains(sql: Sql, accountId: string): Promise<string[]> {
  type Entry = EntryRow & { version: number; salt: Buffer | null; payload_hash: Buffer }
  const rows = await sql<Stored[]>`select * from consents where account_id = ${accountId}`
  const entries = groupBy(
    await sql<Entry[]>`select * from consent_history where account_id = ${accountId} order by version`,
    entry => entry.consent_id,
  )
  return rows.flatMap(row => chainProblems(row, entries.get(row.id) ?? []).map(problem => `${row.id} ${problem}`))
}
