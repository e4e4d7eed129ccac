import type { Sql } from 'postgres'
import type { EntryRow } from '../../../server/consents/rows.ts'
import { purge, purgeBefore } from '../../../server/purge/service.ts'
import { ofChain, type Stored } from '../../e2e/check.ts'
import { groupBy } from '../../e2e/reading.ts'

/** Purges whatever was deleted so many days ago; resolves to how many records that was, by account. */
export async function purgeNow(sql: Sql, days = 0): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const options = { before: purgeBefore(days), signal: new AbortController().signal }
  for await (const { account_id, purged } of purge(sql, options)) counts.set(account_id, purged)
  return counts
}

/** What is wrong with the chains of an account, a sentence each. */
export async function brokenChains(sql: Sql, accountId: string): Promise<string[]> {
  type Entry = EntryRow & { version: number; salt: Buffer | null; payload_hash: Buffer }
  const rows = await sql<Stored[]>`select * from consents where account_id = ${accountId}`
  const entries = groupBy(
    await sql<Entry[]>`select * from consent_history where account_id = ${accountId} order by version`,
    entry => entry.consent_id,
  )
  return rows.flatMap(row => ofChain(row, entries.get(row.id) ?? []).map(problem => `${row.id} ${problem}`))
}
