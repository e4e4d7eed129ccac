export interface SourceFile {
  readonly name: string
  readonly bytes: number
  /** SHA-256, in hexadecimal, of the file as stored, compressed or not. */
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
  /** The row, or a person's first by its time: `export.csv:12`, or `export.zip/consents.csv:12`. */
  readonly where: string
  /** Number of rows: one that names no person, or all of a person. */
  readonly rows: number
  /** Null if unreadable. */
  readonly origin_id: string | null
  readonly reason: Reason
  /** Quotes values of the row. */
  readonly message: string
  /** Further rows of a person: at most 1,000, by their times. */
  readonly others: readonly string[]
}

/**
 * A person with one refused row is refused with all rows.
 *
 * `invalid`: not readable as a row; `field`: a field is missing or invalid; `time`: missing or ambiguous time; `contradiction`:
 * different answers at one time, or different subjects; `too_large`: does not fit into a record.
 */
export type Reason = 'invalid' | 'field' | 'time' | 'contradiction' | 'too_large'

/** Row counts: read = records + changes + merged + duplicates + left_out + refused. */
export interface Counts {
  readonly read: number
  readonly records: number
  readonly changes: number
  /** Rows merged into the answer of another row. */
  readonly merged: number
  /** Rows identical to another one of the same person and time. */
  readonly duplicates: number
  readonly left_out: number
  readonly refused: number
}

export interface Prepared {
  /** NDJSON of `ImportRow`s without their site. Null if values are undecided, a row is unreadable, or none can be sent. */
  readonly path: string | null
  readonly files: readonly SourceFile[]
  readonly mapSha256: string
  readonly values: readonly DecidedValue[]
  readonly undecided: number
  /** Rows that may be answers of any person. Nothing may be sent while there are any. */
  readonly unreadable: number
  readonly counts: Counts
  /** Records that have no subject, and that no search for one finds. */
  readonly withoutSubject: number
  readonly refused: Readonly<Partial<Record<Reason, number>>>
  readonly leftOut: readonly { readonly table: DecidedValue['table']; readonly value: string; readonly count: number }[]
  /** RFC 3339 with milliseconds; null without answers. */
  readonly given: { readonly first: string; readonly last: string } | null
}
