export interface SourceFile {
  readonly name: string
  readonly bytes: number
  /** Hexadecimal SHA-256 of the file as stored, compressed or not. */
  readonly sha256: string
}

export interface DecidedValue {
  readonly table: 'event' | 'accepted' | 'names' | 'values' | 'policy_versions'
  /** Empty if not given. */
  readonly value: string
  readonly count: number
  /** `yes`, `no`, `answer`, `left_out`, `dropped`, a preference or a policy version; null if undecided. */
  readonly becomes: string | number | null
}

export interface Refused {
  /** The row, or a person's first: `export.csv:12`, or `export.zip/consents.csv:12`. */
  readonly where: string
  /** One that names no person, or all of a person. */
  readonly rows: number
  /** Null if unreadable. */
  readonly origin_id: string | null
  readonly reason: Reason
  /** Quotes values of the row. */
  readonly message: string
  /** At most 1,000 further rows of the person, by time. */
  readonly others: readonly string[]
}

/**
 * One refused row refuses the person with all rows.
 *
 * `invalid`: unreadable row; `field`: missing or invalid field; `time`: missing or ambiguous time; `contradiction`:
 * different answers at one time, or different subjects; `too_large`: does not fit a record.
 */
export type Reason = 'invalid' | 'field' | 'time' | 'contradiction' | 'too_large'

/** read = records + changes + merged + duplicates + left_out + refused. */
export interface Counts {
  readonly read: number
  readonly records: number
  readonly changes: number
  /** Into another row's answer. */
  readonly merged: number
  /** Identical rows of one person and time. */
  readonly duplicates: number
  readonly left_out: number
  readonly refused: number
}

export interface Prepared {
  /** NDJSON of `ImportRow`s without site. Null if values are undecided, a row is unreadable, or none can be sent. */
  readonly path: string | null
  readonly files: readonly SourceFile[]
  readonly mapSha256: string
  readonly values: readonly DecidedValue[]
  readonly undecided: number
  /** May be answers of any person, so nothing may be sent. */
  readonly unreadable: number
  readonly counts: Counts
  /** No search for a subject finds them. */
  readonly withoutSubject: number
  readonly refused: Readonly<Partial<Record<Reason, number>>>
  readonly leftOut: readonly { readonly table: DecidedValue['table']; readonly value: string; readonly count: number }[]
  /** RFC 3339, ms; null without answers. */
  readonly given: { readonly first: string; readonly last: string } | null
}

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
