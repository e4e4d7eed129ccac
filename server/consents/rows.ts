import type { ConsentDraft } from '../../src/contract/index.ts'
import type { Action, Actor, Link, State } from '../../src/evidence/chain.ts'
import type { Place } from '../net/geo.ts'

/** A record as the API shows it (service specification section 2.1). */
export interface Shown {
  /** The text of its JSON. */
  shown: string
}

/** Records of a list. */
export interface ShownPage {
  /** The JSON of each, with commas between. */
  records: string
  /** The id of the last, where there are as many as were asked for. */
  last: string | null
  /** Whether there are more. */
  is_cut: boolean
}

/** A record that was to be made. */
export interface Creation extends Readonly<Shown> {
  /** Whether it was made by an earlier request with the same key. */
  readonly isReplayed: boolean
}

export interface EntryRow extends State {
  consent_id: string
  version: number
  action: Action
  changed_by: Actor['kind']
  actor_id: string | null
  created_at: Date
  /** Null once the entry is purged. */
  salt: Buffer | null
  payload_hash: Buffer
  hash: Buffer
  /** The record's, in the entry whose payload it is part of. */
  record_hash: Buffer | null
}

/** One event of the audit trail as it is written: whose, when, and its link in the chain. */
export interface Entry {
  readonly action: Action
  readonly actor: Actor
  readonly at: Date
  readonly link: Link
}

/** What is read of a record to go on with its chain. */
export interface ChainRow {
  id: string
  version: number
  chain_head: Buffer
  updated_at: Date
}

/** What is read of a record to change or delete it. */
export interface StateRow extends ChainRow, State {}

/** The link that a batch adds to the chain of a record, which must still be at this version. */
export interface BatchLink extends Link {
  readonly id: string
  readonly version: number
  readonly at: Date
}

/** The record that an Idempotency-Key made, as it was then. */
export interface FirstAnswer extends Shown {
  /** The key's hash, and that of the body it came with, which is empty once the record is purged. */
  key: string
  body_hash: Buffer
}

export interface ListFilters {
  readonly siteId?: string | undefined
  readonly subjectId?: string | undefined
  readonly consentId?: string | undefined
  readonly accepted?: boolean | undefined
  /** Bounds on the id, and so on `created_at`: both inclusive but the last, which is the cursor's. */
  readonly firstId?: string | undefined
  readonly lastId?: string | undefined
  readonly before?: string | undefined
  readonly includeDeleted: boolean
}

/** A client's Idempotency-Key for a create. */
export interface Claim {
  /** Its hash. */
  readonly key: string
  readonly bodyHash: Buffer
}

/** A record to be made. */
export interface Draft {
  readonly draft: ConsentDraft
  readonly claim: Claim | null
  /** Where it is from, if that is known better than by its address. */
  readonly place?: Place | undefined
}

/** What became of a draft. */
export type Made = Creation | Error
