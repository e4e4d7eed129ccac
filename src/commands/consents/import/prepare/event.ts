import type { Reason } from './prepared.ts'

/** Data about the person, identical for all answers. */
export interface Details {
  readonly consent_id?: string | undefined
  readonly subject_id?: string | undefined
  readonly ip_address?: string | undefined
  readonly user_agent?: string | undefined
  readonly notice_locale?: string | undefined
  readonly evidence?: string | undefined
}

/** Pairs of unique source names; null is neither yes nor no. Objects with arbitrary keys would be slow. */
export type Purposes = readonly (readonly [name: string, given: boolean | null])[]

export interface Problem {
  readonly reason: Reason
  readonly message: string
}

/** Row that refuses its person. Sorted before the person's answers. */
export type RefusedEvent = readonly [originId: string, at: 0, sequence: number, part: number, line: number, Problem]

export type AnswerEvent = readonly [
  originId: string,
  /** Unix time in milliseconds. */
  at: number,
  sequence: number,
  part: number,
  /** Line number in the part, from 1. */
  line: number,
  version: number,
  /** Null if derived from the purposes. */
  accepted: boolean | null,
  purposes: Purposes,
  details: Details,
  /** True if no purpose has a yes or a no; the row counts as left out. */
  isSilent: boolean,
]

export type Event = AnswerEvent | RefusedEvent

export function isRefused(event: Event): event is RefusedEvent {
  return event.length === 6
}
