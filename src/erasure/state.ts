import type { Client } from '../client/client.ts'
import type { ResponseInfo } from '../client/request.ts'
import { deletedIds, describeDeletion, erasureResult } from '../contract/documents/deletion-statement.ts'
import type { ErasedRecord, ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { parseInstant } from '../contract/instant.ts'
import type { Target } from './records.ts'

interface Identified {
  readonly id: string
}

export interface CallAnswer<Done = ErasedRecord> {
  readonly certificate: string | null
  /** An earlier attempt may have been carried out. */
  readonly isLost: boolean
  /** Nothing of the subject remains to be done. */
  readonly isComplete: boolean
  readonly records: readonly Done[]
  /** Without an outcome. */
  readonly untold: readonly string[]
  /** Deleted, but the history does not verify. */
  readonly unverified: readonly string[]
}

/**
 * Write-ahead entries. t: target. s: records about to be changed; `isBatch` by a call for several. a: its answer. f: it
 * failed. c: seconds that the local clock is ahead.
 */
export type ErasureEvent<Done = ErasedRecord> =
  | readonly ['t', target: Target]
  | readonly ['s', ids: readonly string[], isBatch: boolean]
  | readonly ['a', answer: CallAnswer<Done>, isBatch: boolean]
  | readonly ['f', ids: readonly string[], maybeDone: boolean, isBatch: boolean]
  | readonly ['c', seconds: number]

export interface ErasureOrder {
  readonly subjects: readonly string[]
  readonly ticket: string
  readonly reason: string | null
  readonly started_at: string
}

export interface ErasureState<Order extends ErasureOrder = ErasureOrder, Done extends Identified = ErasedRecord> {
  readonly order: Order
  readonly targets: Map<string, Target>
  /** May have been sent, without an outcome yet. */
  readonly sent: Set<string>
  /** Possibly done: the call failed or had no response. */
  readonly lost: Set<string>
  readonly done: Map<string, Done>
  readonly unverified: Set<string>
  /** Their last response was complete, so deleted records are marked as erased. */
  readonly marked: Set<number>
  readonly certificates: string[]
  /** Of calls for several records; their certificates were lost too. */
  lostAnswers: number
  clockOffset: number | null
}

export interface ErasureRun<Done extends Identified = ErasedRecord> {
  readonly api: Pick<Client, 'call' | 'supports' | 'consents'>
  readonly state: ErasureState<ErasureOrder, Done>
  /** Writes to disk first, then applies. */
  readonly record: (event: ErasureEvent<Done>) => Promise<void>
}

export function newState<Order extends ErasureOrder, Done extends Identified = ErasedRecord>(
  order: Order,
): ErasureState<Order, Done> {
  return {
    order,
    targets: new Map(),
    sent: new Set(),
    lost: new Set(),
    done: new Map(),
    unverified: new Set(),
    marked: new Set(),
    certificates: [],
    lostAnswers: 0,
    clockOffset: null,
  }
}

type AnyState<Done extends Identified> = ErasureState<ErasureOrder, Done>

export function apply<Done extends Identified>(state: AnyState<Done>, event: ErasureEvent<Done>): void {
  switch (event[0]) {
    case 't':
      state.targets.set(event[1].id, event[1])
      break
    case 's':
      for (const id of event[1]) addSent(state, id)
      if (event[2]) state.lostAnswers += 1
      break
    case 'a':
      applyAnswer(state, event[1])
      if (event[2] && !event[1].isLost) state.lostAnswers -= 1
      break
    case 'f':
      for (const id of event[1]) forgetSent(state, id, event[2])
      if (event[3] && !event[2]) state.lostAnswers -= 1
      break
    case 'c':
      state.clockOffset = event[1]
  }
}

function applyAnswer<Done extends Identified>(state: AnyState<Done>, answer: CallAnswer<Done>): void {
  const { certificate, isLost, isComplete, records, untold, unverified } = answer
  for (const record of records) {
    state.done.set(record.id, record)
    state.unverified.delete(record.id)
  }
  for (const id of untold) forgetSent(state, id, isLost)
  for (const id of [...records.map(({ id }) => id), ...untold]) {
    const subject = state.targets.get(id)?.subject
    if (subject === undefined) continue
    if (isComplete) state.marked.add(subject)
    else state.marked.delete(subject)
  }
  for (const id of unverified) state.unverified.add(id)
  if (certificate !== null) state.certificates.push(certificate)
}

function addSent({ sent, lost }: Pick<ErasureState, 'sent' | 'lost'>, id: string): void {
  if (sent.has(id)) lost.add(id) // killed before the outcome
  sent.add(id)
}

function forgetSent({ sent, lost }: Pick<ErasureState, 'sent' | 'lost'>, id: string, maybeDone: boolean): void {
  sent.delete(id)
  if (maybeDone) lost.add(id)
}

interface Rest extends Pick<ErasureState, 'targets'> {
  readonly done: ReadonlyMap<string, unknown>
}

export function restOf({ targets, done }: Rest): Target[] {
  return [...targets.values()].filter(({ id }) => !done.has(id))
}

/** True if an earlier call may have deleted or changed it. */
export function mayBeDone({ sent, lost }: Pick<ErasureState, 'sent' | 'lost'>, id: string): boolean {
  return sent.has(id) || lost.has(id)
}

export interface RecordSeen {
  /** False if the call deleted the record. */
  readonly isAbsent: boolean
  /** Relative to the job's start; null if unknown. */
  readonly deletedAt: 'before' | 'since' | null
  /** True if an earlier response was lost. */
  readonly mayBeOwn: boolean
}

/** Returns `records[].result`, unless the record is still listed. */
export function findRecordResult({ isAbsent, deletedAt, mayBeOwn }: RecordSeen): ErasedRecord['result'] {
  if (deletedAt === 'before') return 'already_gone'
  if (!isAbsent) return 'deleted'
  if (!mayBeOwn) return 'already_gone'
  return deletedAt === 'since' ? 'deleted' : 'unknown'
}

export interface RecordAnswer {
  readonly target: Target
  readonly isAbsent: boolean
  /** Time by the instance's clock. */
  readonly deleted_at: string | null
}

export interface Call {
  readonly mayBeOwn: boolean
  readonly requestId: string | null
  /** The response lists only records that this call deleted. The response to a single deletion may have an older time. */
  readonly isBatch: boolean
}

export function toRecord(
  state: ErasureState,
  { target, isAbsent, deleted_at }: RecordAnswer,
  { mayBeOwn, requestId, isBatch }: Call,
): ErasedRecord {
  const isCertain = !isAbsent && isBatch
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

const clockToleranceSeconds = 60

function isBefore({ order, clockOffset }: ErasureState, instant: string): boolean {
  const localMs = (parseInstant(instant) ?? 0) + (clockOffset ?? 0) * 1000
  return localMs < Date.parse(order.started_at) - clockToleranceSeconds * 1000
}

/** Records the offset once. Date has whole seconds and is slightly old. */
export async function recordClock<Done extends Identified>(
  { state, record }: Pick<ErasureRun<Done>, 'state' | 'record'>,
  response: ResponseInfo | undefined,
): Promise<void> {
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
    statement:
      deleted.length === unverified.length
        ? null
        : describeDeletion(findPurgeDelay(state.certificates), state.certificates.some(isSealed)),
    ...countResults(records),
    records,
    unverified,
  }
}

/** In days; undefined if the newest certificate does not state it. */
function findPurgeDelay(certificates: readonly string[]): number | null | undefined {
  try {
    const days: unknown = Object(JSON.parse(certificates.at(-1) ?? '{}')).purge_after_days
    return days === null || (Number.isSafeInteger(days) && (days as number) >= 0) ? (days as number | null) : undefined
  } catch {
    return undefined // the deletion needs its receipt, whatever the certificate
  }
}

/** True if the certificate names sites that keep sealed proofs. */
function isSealed(certificate: string): boolean {
  try {
    return Object(JSON.parse(certificate)).sealed_proofs !== undefined
  } catch {
    return false
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
