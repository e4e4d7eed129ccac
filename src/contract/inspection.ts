/**
 * What is wrong with a record or with the log: something is not as it was written; stands in another place; is missing; is
 * missing at the end; or is there and was never written.
 */
export type Problem = 'changed' | 'reordered' | 'lost' | 'shortened' | 'forged'

/** Something in a database that is not what the service wrote. */
export interface DatabaseFinding {
  /** Null where it is about what all accounts share. */
  readonly account_id: string | null
  /** The record's id; null where it is about the account's log, and no record can be named. */
  readonly consent_id: string | null
  /** Of the audit entry; null where it is about more than one. */
  readonly version: number | null
  readonly problem: Problem
  /** For people. */
  readonly detail: string
}

/** What of a database is looked at, and by what. */
export interface Inspection {
  /** One account alone. */
  readonly account?: string | undefined
  /** Signed checkpoints that were kept elsewhere. */
  readonly kept: readonly string[]
  /** Ends the work, with its reason. */
  readonly signal: AbortSignal
}

/** How much was looked at so far. */
export interface Inspected {
  accounts: number
  records: number
  entries: number
  checkpoints: number
}

/** The work is done while the findings are read; they come in pages, as they are found. */
export interface Verification {
  readonly findings: AsyncIterable<readonly DatabaseFinding[]>
  readonly inspected: Readonly<Inspected>
}

/** The signed checkpoints of now, the last one of each account that has entries, and what contradicts those that were kept. */
export interface TakenCheckpoints {
  readonly checkpoints: readonly string[]
  readonly findings: readonly DatabaseFinding[]
}
