import type { Client } from '../client/client.ts'
import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import type { Target } from './records.ts'

export interface CallAnswer {
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
 * Write-ahead entries. t: target. s: records about to be deleted; `isCertified` by a call that has a certificate. a: its
 * answer. f: it failed. c: seconds that the local clock is ahead.
 */
export type ErasureEvent =
  | readonly ['t', target: Target]
  | readonly ['s', ids: readonly string[], isCertified: boolean]
  | readonly ['a', answer: CallAnswer, isCertified: boolean]
  | readonly ['f', ids: readonly string[], maybeDone: boolean, isCertified: boolean]
  | readonly ['c', seconds: number]

export interface ErasureOrder {
  /** Without duplicates. */
  readonly subjects: readonly string[]
  readonly ticket: string
  readonly reason: string | null
  readonly started_at: string
}

export interface ErasureState<Order extends ErasureOrder = ErasureOrder> {
  readonly order: Order
  readonly targets: Map<string, Target>
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
  readonly api: Pick<Client, 'call' | 'supports' | 'consents'>
  readonly state: ErasureState
  /** On disk first, then applied. */
  readonly record: (event: ErasureEvent) => Promise<void>
}

export function newState<Order extends ErasureOrder>(order: Order): ErasureState<Order> {
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

export function apply(state: ErasureState, event: ErasureEvent): void {
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

function applyAnswer(state: ErasureState, answer: CallAnswer): void {
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

function addSent({ sent, lost }: ErasureState, id: string): void {
  if (sent.has(id)) lost.add(id) // killed before the outcome
  sent.add(id)
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
