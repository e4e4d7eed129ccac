import { sameJson } from '../../src/evidence/canonical.ts'
import type { ChainEntry } from '../../src/evidence/entry.ts'
import { type Finding, verifyHistory } from '../../src/evidence/history.ts'
import { instantOf } from '../ids.ts'
import { entriesAtOnce } from '../purge/service.ts'
import type { StoredRecord } from './rows.ts'
import type { Stored } from './stored.ts'

/** Verifies a record against its history, and that against the log; nothing is found where all is as it was written. */
export function verifyStored({ id, record, entries, log, inexact }: Stored): Finding[] {
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
    ['created_at', record.created_at, instantOf(record.id).getTime()],
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
