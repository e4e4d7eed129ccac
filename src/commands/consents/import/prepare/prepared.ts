export interface SourceFile {
  /** As it was given. */
  readonly name: string
  readonly bytes: number
  /** Of the file as it is, compressed or not; in hexadecimal. */
  readonly sha256: string
}

/** A distinct value that the map decides, or has to. */
export interface DecidedValue {
  readonly table: 'event' | 'accepted' | 'names' | 'values' | 'policy_versions'
  /** Empty: not given. */
  readonly value: string
  readonly count: number
  /** `yes`, `no`, `answer`, `left_out`, `dropped`, a preference or a policy version; null: not decided. */
  readonly becomes: string | number | null
}

export interface Refused {
  /** Of the first row: `export.csv:12`, or `export.zip/consents.csv:12`. */
  readonly where: string
  /** One, or all rows of a person. */
  readonly rows: number
  /** Null if it could not be read. */
  readonly origin_id: string | null
  readonly reason: Reason
  /** For people; quotes values of the row. */
  readonly message: string
}

/** `invalid`: not readable as a row; `field`: a field is missing or not valid; `time`: no time that can be told;
 * `contradiction`: different answers at one time, or different subjects; `too_large`: more than fits into a record. */
export type Reason = 'invalid' | 'field' | 'time' | 'contradiction' | 'too_large'

/** Of rows: read = records + changes + merged + duplicates + left_out + refused. */
export interface Counts {
  readonly read: number
  /** Lines of the prepared file: first answers. */
  readonly records: number
  /** Later answers, which are changes of the records. */
  readonly changes: number
  /** Rows that are part of the answer of another row. */
  readonly merged: number
  /** Rows that say the same as another one of the same person and time. */
  readonly duplicates: number
  readonly left_out: number
  readonly refused: number
}

export interface Prepared {
  /** NDJSON: an `ImportRow` without its site a line. Null if values are not decided, or nothing can be sent. */
  readonly path: string | null
  readonly files: readonly SourceFile[]
  /** SHA-256 of the map, in hexadecimal. */
  readonly mapSha256: string
  /** By table, then by count. */
  readonly values: readonly DecidedValue[]
  readonly undecided: number
  readonly counts: Counts
  /** By reason; rows. */
  readonly refused: Readonly<Partial<Record<Reason, number>>>
  /** By the value that left rows out; rows. */
  readonly leftOut: readonly { readonly table: DecidedValue['table']; readonly value: string; readonly count: number }[]
  /** Of all answers, RFC 3339 with milliseconds; null without any. */
  readonly given: { readonly first: string; readonly last: string } | null
}
