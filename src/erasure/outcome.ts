import type { ResponseInfo } from '../client/request.ts'
import { deletedIds, describeDeletion, erasureResult } from '../contract/documents/deletion-statement.ts'
import type { ErasedRecord, ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { parseInstant } from '../contract/instant.ts'
import type { Target } from './records.ts'
import type { ErasureRun, ErasureState } from './state.ts'

export interface RecordSeen {
  /** False if the call deleted the record. */
  readonly isAbsent: boolean
  /** Relative to the job's start; null if unknown. */
  readonly deletedAt: 'before' | 'since' | null
  /** True if an earlier response was lost. */
  readonly mayBeOwn: boolean
}

/** `records[].result`, unless the record is still listed. */
export function findRecordResult({ isAbsent, deletedAt, mayBeOwn }: RecordSeen): ErasedRecord['result'] {
  if (deletedAt === 'before') return 'already_gone'
  if (!isAbsent) return 'deleted'
  if (!mayBeOwn) return 'already_gone'
  return deletedAt === 'since' ? 'deleted' : 'unknown'
}

export interface RecordAnswer {
  readonly target: Target
  readonly isAbsent: boolean
  /** Instance's clock. */
  readonly deleted_at: string | null
}

interface Call {
  readonly mayBeOwn: boolean
  readonly requestId: string | null
  /** The answer names only records that this call deleted. The response to a single deletion may have an older time. */
  readonly isCertified: boolean
}

export function toRecord(
  state: ErasureState,
  { target, isAbsent, deleted_at }: RecordAnswer,
  { mayBeOwn, requestId, isCertified }: Call,
): ErasedRecord {
  const isCertain = !isAbsent && isCertified
  const isOlder = deleted_at !== null && !isCertain && isBefore(state, deleted_at)
  const deletedAt = deleted_at === null ? null : isOlder ? 'before' : 'since'
  const result = findRecordResult({ isAbsent, deletedAt, mayBeOwn })
  const isOwn = result === 'deleted' && !isAbsent
  return {
    id: target.id,
    site_id: target.site_id,
    result,
    deleted_at: deleted_at ?? (isOwn ? new Date().toISOString() : null),
    request_id: isOwn ? requestId : null, // absent before the request
    deleted_at_by: deleted_at !== null ? 'service' : isOwn ? 'local' : null,
  }
}

export function toInstant(value: string | null): string | null {
  return value !== null && parseInstant(value) !== null ? value : null
}

/** Tolerated difference of the clocks. */
const clockToleranceSeconds = 60

function isBefore({ order, clockOffset }: ErasureState, instant: string): boolean {
  const localMs = (parseInstant(instant) ?? 0) + (clockOffset ?? 0) * 1000
  return localMs < Date.parse(order.started_at) - clockToleranceSeconds * 1000
}

/** Records the offset once. Date has whole seconds and is slightly old. */
export async function recordClock({ state, record }: ErasureRun, response: ResponseInfo | undefined): Promise<void> {
  if (!response || response.at === null || state.clockOffset !== null) return
  const seconds = Math.round((Date.now() - response.at) / 1000)
  if (Math.abs(seconds) > clockToleranceSeconds) await record(['c', seconds])
}

export type ErasureOutcome = Pick<
  ErasureReceipt,
  'result' | 'statement' | 'counts' | 'sites' | 'records' | 'unverified'
>

export function toOutcome(state: ErasureState, verification: ErasureReceipt['verification']): ErasureOutcome {
  const records = toRecords(state, verification)
  const deleted = deletedIds({ records })
  const unverified = deleted.filter(id => state.unverified.has(id))
  return {
    result: erasureResult({ found: state.targets.size, ...verification }),
    statement: deleted.length === unverified.length ? null : describeDeletion(findPurgeDelay(state.certificates)),
    ...countResults(records),
    records,
    unverified,
  }
}

/** Days; undefined if not stated by the newest certificate. */
function findPurgeDelay(certificates: readonly string[]): number | null | undefined {
  try {
    const days: unknown = Object(JSON.parse(certificates.at(-1) ?? '{}')).purge_after_days
    return days === null || (Number.isSafeInteger(days) && (days as number) >= 0) ? (days as number | null) : undefined
  } catch {
    return undefined // the deletion needs its receipt, whatever the certificate
  }
}

/** A record still listed is `remaining`, whatever its deletion returned. */
function toRecords(
  { targets, done }: ErasureState,
  { remaining }: ErasureReceipt['verification'],
): ErasureReceipt['records'] {
  const listed = new Set(remaining.map(({ id }) => id))
  return [...targets.keys()].map(id => {
    const record = done.get(id)
    if (record === undefined) throw new Error(`the outcome of the record ${id} is unknown: nothing is signed`)
    if (listed.has(id)) return { ...record, result: 'remaining', deleted_at: null, deleted_at_by: null }
    return record
  })
}

function countResults(records: readonly ErasedRecord[]): Pick<ErasureReceipt, 'counts' | 'sites'> {
  const counts = { deleted: 0, already_gone: 0, unknown: 0 }
  const sites = new Map<string | null, ErasureReceipt['sites'][number]>()
  for (const { site_id, result } of records) {
    if (result === 'remaining') continue
    const site = sites.get(site_id) ?? { site_id, deleted: 0, already_gone: 0, unknown: 0 }
    sites.set(site_id, site)
    site[result] += 1
    counts[result] += 1
  }
  return { counts, sites: [...sites.values()] }
}
