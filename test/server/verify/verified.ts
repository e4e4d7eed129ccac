import type { Sql } from 'postgres'
import { verifyAll } from '../../../server/verify/verify.ts'
import type { DatabaseFinding, Inspected } from '../../../src/contract/index.ts'
import { readCheckpoint } from '../../../src/evidence/signed.ts'

/** What is found in a database, with checkpoints that were kept of it, and how much was looked at. */
export async function verified(
  sql: Sql,
  { kept = [], account, anchor, tsaCa }: { kept?: string[]; account?: string; anchor?: string; tsaCa?: string } = {},
) {
  const inspected: Inspected = { accounts: 0, records: 0, entries: 0, administration: 0, checkpoints: 0, timestamps: 0 }
  const findings: DatabaseFinding[] = []
  const work = { sql, signal: new AbortController().signal, inspected }
  const scope = { account, kept: kept.map(readCheckpoint), records: true, anchor: anchor ?? null, tsaCa }
  for await (const found of verifyAll(work, scope)) findings.push(...found)
  return { findings, inspected }
}
