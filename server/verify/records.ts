import type { Sql } from 'postgres'
import type { DatabaseFinding, Inspected } from '../../src/contract/index.ts'
import { parseExactJson } from '../../src/contract/json.ts'
import { sameJson } from '../../src/evidence/canonical.ts'
import type { ChainEntry } from '../../src/evidence/chain.ts'
import { type Finding, verifyHistory } from '../../src/evidence/history.ts'
import { withRetry } from '../db/errors.ts'
import { firstIdAt, lastIdAt, readInstant } from '../ids.ts'
import { entriesAtOnce } from '../purge/service.ts'
import {
  findCut,
  listPieces,
  type PieceRow,
  type Range,
  recordColumns,
  type StoredRecord,
} from './queries.ts'

/** All that a database holds of one record. */
interface Stored {
  readonly id: string
  readonly record: StoredRecord | null
  readonly entries: readonly ChainEntry[]
  /** The hashes that the log has, by their versions. */
  readonly log: ReadonlyMap<number, Buffer>
  /** The versions whose preferences have a number that is read as another one; null for those of the record itself. */
  readonly inexact: readonly (number | null)[]
}

/** Gathers the rows of one record. */
function storedOf(id: string, pieces: readonly PieceRow[]): Stored {
  const log = new Map<number, Buffer>()
  const entries: ChainEntry[] = []
  const inexact: (number | null)[] = pieces[0] && !isExact(pieces[0].r_digits) ? [null] : []
  for (const piece of pieces) {
    if (piece.version === null) continue
    if (!isExact(piece.digits)) inexact.push(piece.version)
    if (piece.logged) log.set(piece.version, piece.logged)
    if (piece.hash) entries.push(entryOf(piece, piece.version, piece.hash))
  }
  const [first] = pieces
  return { id, record: first && first.r_id !== null ? recordOf(first) : null, entries, log, inexact }
}

/** Whether JSON is read as it is written: PostgreSQL keeps more digits than JavaScript, which would not see them. */
function isExact(json: string | null): boolean {
  if (json === null) return true
  try {
    parseExactJson(json)
    return true
  } catch {
    return false
  }
}

/** An entry, with nothing in place of what may not be missing: that has no hash that fits, and is told for that. */
function entryOf(piece: PieceRow, version: number, hash: Buffer): ChainEntry {
  const { accepted, preferences, policy_version, salt } = piece
  return {
    version,
    action: piece.action ?? '',
    accepted,
    preferences,
    policy_version,
    actor: { kind: piece.changed_by ?? '', id: piece.actor_id },
    at: piece.created_at ?? new Date(Number.NaN),
    salt,
    payloadHash: piece.payload_hash ?? Buffer.alloc(0),
    hash,
  }
}

function recordOf(piece: PieceRow): StoredRecord {
  const record: Record<string, unknown> = {}
  for (const name of recordColumns) record[name] = piece[`r_${name}`]
  record['chain_head'] ??= Buffer.alloc(0)
  return record as unknown as StoredRecord
}

/** Verifies a record against its history, and that against the log; nothing is found where all is as it was written. */
function verifyStored({ id, record, entries, log, inexact }: Stored): Finding[] {
  if (entries.length === 0 || !record) return [ofAbsence({ record, entries, log })]
  const { record_hash: recordHash, ...identity } = record
  const chain = verifyHistory({ id, recordHash, identity, isPurged: record.purged_at !== null }, entries)
  const numbers = inexact.map((version): Finding => ({ version, problem: 'changed', detail: inexactly }))
  const isTold = new Set(chain.map(({ version }) => version))
  const logged = ofLog(entries, log).filter(({ version }) => !isTold.has(version))
  return [...chain, ...numbers, ...logged, ...ofRow(record, entries)]
}

const inexactly = 'its preferences have a number with more digits than the service writes'

function ofAbsence({ record, entries, log }: Pick<Stored, 'record' | 'entries' | 'log'>): Finding {
  const found = (problem: Finding['problem'], detail: string) => ({ version: null, problem, detail })
  if (record) {
    return log.size > 0
      ? found('lost', 'its history is missing')
      : found('forged', 'it has no history, and the log knows nothing of it')
  }
  if (entries.length === 0)
    return found('lost', `it is missing with its history; the log knows ${counted(log.size)}`)
  return log.size > 0
    ? found('lost', `it is missing; ${counted(entries.length)} of its history are left`)
    : found('forged', `there is a history without it, and the log knows nothing of that`)
}

function counted(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`
}

/** The history against the log, which has every entry's hash once more. */
function ofLog(entries: readonly ChainEntry[], log: Stored['log']): Finding[] {
  const findings: Finding[] = []
  const last = entries.at(-1)?.version ?? 0
  const known = new Map([...log].map(([version, hash]) => [hash.toString('hex'), version]))
  for (const { version, hash } of entries) {
    const logged = log.get(version)
    if (logged?.equals(hash)) continue
    const other = known.get(hash.toString('hex'))
    if (other !== undefined) {
      findings.push({ version, problem: 'reordered', detail: `is version ${other} in the log` })
    } else if (logged) findings.push({ version, problem: 'changed', detail: 'is another one in the log' })
    else findings.push({ version, problem: 'forged', detail: 'the log does not have it' })
  }
  const present = new Set(entries.map(({ version }) => version))
  for (const version of log.keys()) {
    if (present.has(version)) continue
    const problem = version > last ? 'shortened' : 'lost'
    findings.push({ version, problem, detail: 'the log has it, the history does not' })
  }
  return findings
}

/** The record against the end of its history. */
function ofRow(record: StoredRecord, entries: readonly ChainEntry[]): Finding[] {
  const findings: Finding[] = []
  const found = (problem: Finding['problem'], detail: string) =>
    void findings.push({ version: null, problem, detail })
  const last = entries.at(-1)
  const timeOf = (action: string) => entries.findLast(entry => entry.action === action)?.at.getTime() ?? null
  if (!last) return []
  if (record.version > last.version)
    found('shortened', `it is at version ${record.version}, its history ends at ${last.version}`)
  if (record.version < last.version)
    found('changed', `it is at version ${record.version}, its history at ${last.version}`)
  if (!record.chain_head.equals(last.hash)) found('changed', 'its head is not the hash of the last entry')
  const { accepted, preferences, policy_version } = record
  const isState =
    accepted === last.accepted &&
    policy_version === last.policy_version &&
    isSame(preferences, last.preferences)
  if (!isState)
    found('changed', 'its acceptance, preferences or policy version is not that of the last entry')
  const times: [string, Date | null, number | null][] = [
    ['created_at', record.created_at, readInstant(record.id).getTime()],
    ['updated_at', record.updated_at, last.at.getTime()],
    ['deleted_at', record.deleted_at, timeOf('deleted')],
    ['purged_at', record.purged_at, isPurging(record, last) ? null : timeOf('purged')],
  ]
  for (const [name, time, expected] of times) {
    if ((time?.getTime() ?? null) !== expected) found('changed', `its ${name} is not what its history says`)
  }
  if (record.site === null) found('changed', 'its site is none of the account')
  return findings
}

/** A purge of so many entries is not done in one statement; its time is set when it is through. */
function isPurging({ purged_at }: StoredRecord, last: ChainEntry): boolean {
  return last.action === 'purged' && last.version > entriesAtOnce && purged_at === null
}

/** Two JSON values alike; a number that is none in JSON is like no other. */
function isSame(one: unknown, other: unknown): boolean {
  try {
    return sameJson(one, other)
  } catch {
    return false
  }
}

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
  return withRetry(read, { isIdempotent: true, budgetMs: 10_000, onRetry: () => {} })
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
