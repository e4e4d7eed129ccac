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
