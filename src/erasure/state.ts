import type { Client } from '../client/client.ts'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import type { Target } from './records.ts'

export interface ServiceAnswer {
  readonly certificate: string | null
  /** An earlier attempt may have been carried out. */
  readonly isLost: boolean
  /** Nothing of the subject is left to delete or mark. */
  readonly isComplete: boolean
  readonly records: readonly ErasedRecord[]
  /** Neither deleted nor found absent. */
  readonly untold: readonly string[]
  /** Deleted, but the history does not verify. */
  readonly unverified: readonly string[]
}

/**
 * Write-ahead entries. p: planned record. P: plan complete, deleting may begin. s: records about to be deleted. d: one
 * record's outcome. a: response for several. f: their deletion failed with this code. c: seconds that the local clock
 * is ahead.
 */
export type ErasureEvent =
  | readonly ['p', target: Target]
  | readonly ['P']
  | readonly ['s', ids: readonly string[]]
  | readonly ['d', record: ErasedRecord]
  | readonly ['a', answer: ServiceAnswer]
  | readonly ['f', ids: readonly string[], code: string, maybeDone: boolean]
  | readonly ['c', seconds: number]

export interface ErasureOrder {
  readonly subjects: readonly string[]
  readonly ticket: string
  readonly reason: string | null
  readonly started_at: string
  /** `subject`: erased by the service; `record`: one by one. */
  readonly deletes_by: 'subject' | 'record'
}

export interface ErasureState<Order extends ErasureOrder = ErasureOrder> {
  readonly header: Order
  readonly targets: Map<string, Target>
  isPlanned: boolean
  /** Deletion may have been sent; no outcome yet. */
  readonly sent: Set<string>
  /** Possibly deleted: the deletion failed or had no response. */
  readonly lost: Set<string>
  readonly done: Map<string, ErasedRecord>
  readonly unverified: Set<string>
  /** Their last response was complete, so deleted records are marked as erased. */
  readonly marked: Set<number>
  readonly certificates: string[]
  /** Certificates lost with their responses. */
  lostAnswers: number
  clockOffset: number | null
}

export interface ErasureRun {
  readonly api: Pick<Client, 'call' | 'supports'>
  readonly state: ErasureState
  /** On disk first, then applied. */
  readonly record: (event: ErasureEvent) => Promise<void>
  readonly codeOf: (error: unknown) => string
}

export function newState<Order extends ErasureOrder>(header: Order): ErasureState<Order> {
  return {
    header,
    targets: new Map(),
    isPlanned: false,
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

export function apply(state: ErasureState, event: ErasureEvent): void {
  const isBySubject = state.header.deletes_by === 'subject'
  switch (event[0]) {
    case 'p':
      state.targets.set(event[1].id, event[1])
      break
    case 'P':
      state.isPlanned = true
      break
    case 's':
      for (const id of event[1]) {
        if (state.sent.has(id)) state.lost.add(id) // killed before the outcome
        state.sent.add(id)
      }
      if (isBySubject) state.lostAnswers += 1
      break
    case 'd':
      state.done.set(event[1].id, event[1])
      break
    case 'a':
      applyAnswer(state, event[1])
      break
    case 'f':
      for (const id of event[1]) forgetSent(state, id, event[3])
      if (isBySubject && !event[3]) state.lostAnswers -= 1
      break
    case 'c':
      state.clockOffset = event[1]
  }
}

function applyAnswer(state: ErasureState, answer: ServiceAnswer): void {
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
  if (!isLost) state.lostAnswers -= 1
}

function forgetSent({ sent, lost }: ErasureState, id: string, maybeDone: boolean): void {
  sent.delete(id)
  if (maybeDone) lost.add(id)
}

export function restOf({ targets, done }: Pick<ErasureState, 'targets' | 'done'>): Target[] {
  return [...targets.values()].filter(({ id }) => !done.has(id))
}

export function mayBeDeleted({ sent, lost }: ErasureState, id: string): boolean {
  return sent.has(id) || lost.has(id)
}
