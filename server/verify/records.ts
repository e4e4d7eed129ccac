import type { Sql } from 'postgres'
import type { DatabaseFinding, Inspected } from '../../src/contract/index.ts'
import type { Finding } from '../../src/evidence/history.ts'
import { retried } from '../db/retry.ts'
import { firstIdAt, lastIdAt } from '../ids.ts'
import { findCut, listPieces, type Range } from './queries.ts'
import { verifyStored } from './record.ts'
import type { PieceRow } from './rows.ts'
import { type Stored, storedOf } from './stored.ts'

/** About how many rows of each table are read in one statement. */
const batch = 1000

/** What both parts of the work are given. */
export interface Work {
  readonly sql: Sql
  readonly signal: AbortSignal
  readonly inspected: Inspected
}

/** Tries a read again where the database was away for a moment. */
export function reading<T>(read: () => Promise<T>): Promise<T> {
  return retried(read, { isRepeatable: true, patience: 10_000, onRetry: () => {} })
}

/**
 * Verifies every record of an account, and yields what is found of a batch of them. Records that are made after its
 * beginning are passed over: it would never end where they are made faster than it reads.
 */
export async function* verifyRecords(
  { sql, signal, inspected }: Work,
  accountId: string,
): AsyncGenerator<DatabaseFinding[]> {
  const beginning = firstIdAt(Date.now())
  let next = readBatch(sql, accountId, null)
  for (;;) {
    const { records, upTo } = await next
    signal.throwIfAborted()
    if (upTo !== null)
      next = readBatch(sql, accountId, upTo > beginning ? later(upTo, lastIdAt(Date.now())) : upTo)
    next.catch(() => {}) // thrown where it is waited for, if anybody still does
    const findings: DatabaseFinding[] = []
    for (const stored of records) {
      inspected.records += stored.record ? 1 : 0
      inspected.entries += stored.entries.length
      if (findingsOf(stored).length > 0) findings.push(...(await accuse(sql, accountId, stored.id)))
    }
    if (findings.length > 0) yield findings
    if (upTo === null) return
  }
}

function later(one: string, other: string): string {
  return one > other ? one : other
}

async function readBatch(sql: Sql, accountId: string, above: string | null) {
  const upTo = await reading(() => findCut(sql, accountId, above, batch))
  return { upTo, records: await readRecords(sql, accountId, { above, upTo }) }
}

/** Reads a record once more before anything is said of it. */
async function accuse(sql: Sql, accountId: string, id: string): Promise<DatabaseFinding[]> {
  const [stored] = await readRecords(sql, accountId, { from: id, upTo: id })
  const findings = stored ? findingsOf(stored) : []
  return findings.map(finding => ({ account_id: accountId, consent_id: id, ...finding }))
}

/** What is found of a record. Whatever somebody has put into it, the ones behind it are looked at too. */
function findingsOf(stored: Stored): Finding[] {
  try {
    return verifyStored(stored)
  } catch {
    return [{ version: null, problem: 'changed', detail: 'it has values that the service writes nowhere' }]
  }
}

async function readRecords(sql: Sql, accountId: string, range: Range): Promise<Stored[]> {
  const pieces = await reading(() => listPieces(sql, accountId, range))
  const groups = new Map<string, PieceRow[]>()
  for (const piece of pieces) {
    if (piece.record_id === null) continue // of no record; where it was taken from one, that one is told
    const group = groups.get(piece.record_id)
    if (group) group.push(piece)
    else groups.set(piece.record_id, [piece])
  }
  return [...groups].map(([id, group]) => storedOf(id, group))
}
