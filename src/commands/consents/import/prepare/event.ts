/** Said of the person, and so the same for all answers. */
export interface Details {
  readonly consent_id?: string | undefined
  readonly subject_id?: string | undefined
  readonly ip_address?: string | undefined
  readonly user_agent?: string | undefined
  readonly notice_locale?: string | undefined
  readonly evidence?: string | undefined
}

/** By the source's name of a purpose, each once; null: neither a yes nor a no. Pairs, because objects of any names are slow. */
export type Purposes = readonly (readonly [name: string, given: boolean | null])[]

/** The content of a row, as it is sorted. */
export type Event = readonly [
  originId: string,
  /** Milliseconds since 1970. */
  at: number,
  sequence: number,
  /** Index of its part. */
  part: number,
  /** In its part, from 1. */
  line: number,
  version: number,
  /** Null: derived from the purposes. */
  accepted: boolean | null,
  purposes: Purposes,
  details: Details,
  /** True if it has purposes without a yes or a no alone, and counts as left out. */
  isSilent: boolean,
]
