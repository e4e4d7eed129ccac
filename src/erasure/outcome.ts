import type { ResponseInfo } from '../client/request.ts'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import { parseInstant } from '../contract/instant.ts'
import { choose } from '../receipts/sentence.ts'
import type { Target } from './records.ts'
import { type RecordSeen, recordSentences } from './sentences.ts'
import type { ErasureRun, ErasureState } from './state.ts'

export interface RecordAnswer {
  readonly target: Target
  /** False if this call deleted the record. */
  readonly isAbsent: boolean
  /** Instance's clock. */
  readonly deleted_at: string | null
  readonly mayBeOwn: boolean
  readonly requestId: string | null
}

export function toRecord(state: ErasureState, answer: RecordAnswer): ErasedRecord {
  const { target, isAbsent, deleted_at, mayBeOwn, requestId } = answer
  // The service's own erasure names only records that this call deleted; a single deletion may return an older time.
  const isCertain = !isAbsent && state.header.deletes_by === 'subject'
  const isOlder = deleted_at !== null && !isCertain && isBefore(state, deleted_at)
  const seen: RecordSeen = {
    answer: isAbsent ? 'absent' : 'deleted',
    deletedAt: deleted_at === null ? null : isOlder ? 'before' : 'since',
    mayBeOwn,
    isListed: false,
  }
  const result = choose(recordSentences, seen)
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

function isBefore({ header, clockOffset }: ErasureState, instant: string): boolean {
  const localMs = (parseInstant(instant) ?? 0) + (clockOffset ?? 0) * 1000
  return localMs < Date.parse(header.started_at) - clockToleranceSeconds * 1000
}

/** Records the offset once. Date has whole seconds and is slightly old. */
export async function recordClock({ state, record }: ErasureRun, response: ResponseInfo | undefined): Promise<void> {
  if (!response || response.at === null || state.clockOffset !== null) return
  const seconds = Math.round((Date.now() - response.at) / 1000)
  if (Math.abs(seconds) > clockToleranceSeconds) await record(['c', seconds])
}
