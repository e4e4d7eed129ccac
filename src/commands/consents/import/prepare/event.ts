import type { Reason } from './prepared.ts'

/** Identical for all answers of a person. */
export interface Details {
  readonly consent_id?: string | undefined
  readonly subject_id?: string | undefined
  readonly ip_address?: string | undefined
  readonly user_agent?: string | undefined
  readonly notice_locale?: string | undefined
  readonly evidence?: string | undefined
}

/** Names are unique; null is neither yes nor no. Objects with arbitrary keys would be slow. */
export type Purposes = readonly (readonly [name: string, given: boolean | null])[]

export interface Problem {
  readonly reason: Reason
  readonly message: string
}

/** Refuses its person; sorted before the answers. */
export type RefusedEvent = readonly [originId: string, at: 0, sequence: number, part: number, line: number, Problem]

export type AnswerEvent = readonly [
  originId: string,
  /** Unix time, ms. */
  at: number,
  sequence: number,
  part: number,
  /** In the part, from 1. */
  line: number,
  version: number,
  /** Null if derived. */
  accepted: boolean | null,
  purposes: Purposes,
  details: Details,
  /** No purpose has a yes or a no: left out. */
  isSilent: boolean,
]

export type Event = AnswerEvent | RefusedEvent

export function isRefused(event: Event): event is RefusedEvent {
  return event.length === 6
}
