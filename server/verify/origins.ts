import type { ChainEntry } from '../../src/evidence/chain.ts'
import type { Finding } from '../../src/evidence/history.ts'
import { hashOrigin } from '../consents/origin.ts'
import type { StoredRecord } from './queries.ts'

export interface OriginScope {
  readonly accountId: string
  readonly originSecret: Uint8Array | undefined
}

/** Verifies an importer's or browser's statements, and the origin. */
export function findInOrigin(
  { accountId, originSecret }: OriginScope,
  record: StoredRecord,
  entries: readonly ChainEntry[],
): Finding[] {
  const findings: Finding[] = []
  const found = (problem: Finding['problem'], detail: string) => void findings.push({ version: null, problem, detail })
  const imported = entries.findLast(({ action }) => action === 'imported')
  const answer = entries.findLast(({ action }) => answers.includes(action))
  if ((record.given_at?.toISOString() ?? null) !== (imported?.facts?.given_at ?? null))
    found('changed', 'its given_at does not match its history')
  if (record.gpc !== (answer?.facts?.gpc ?? null)) found('changed', 'its gpc does not match its history')
  if (imported) findings.push(...findInMark({ accountId, originSecret }, record, entries.at(-1)?.action === 'purged'))
  else if (record.origin) found('forged', 'it has an origin, but was not imported')
  return findings
}

const answers = ['created', 'imported', 'updated']

function findInMark({ accountId, originSecret }: OriginScope, record: StoredRecord, isPurged: boolean): Finding[] {
  const { origin, origin_system: system, origin_id: id, has_body } = record
  if (!origin) return [{ version: null, problem: 'lost', detail: 'its origin is missing' }]
  const changed = (detail: string): Finding[] => [{ version: null, problem: 'changed', detail }]
  const expected = originSecret && hashOrigin(originSecret, accountId, { system: system ?? '', id: id ?? '' })
  if (!isPurged && !expected) return changed('the secret that verifies its origin is missing')
  if (!isPurged && !expected?.equals(origin)) return changed('its origin does not match its import')
  if (has_body === isPurged) return changed(`the hash of its import is ${isPurged ? 'still there' : 'missing'}`)
  return []
}
