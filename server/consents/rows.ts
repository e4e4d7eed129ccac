import type { ConsentDraft, FilterValues } from '../../src/contract/index.ts'
import type { Action, Actor, FactColumns, Identity, Link, Sealed, State } from '../../src/evidence/chain.ts'
import type { Reported } from '../../src/evidence/circumstances.ts'
import type { Place } from '../net/geo.ts'

/** Service specification, section 2.1. */
export interface ConsentJson {
  json: string
}

export interface FoundConsent extends ConsentJson {
  id: string
  subject_id: string | null
}

export interface PageParts {
  /** Null without a record. */
  parts: string | null
}

export interface Created extends Readonly<ConsentJson> {
  readonly isReplayed: boolean
}

export type CreateResult = Created | Error

export interface Claim {
  readonly key: string
  readonly bodyHash: Buffer
}

export interface Draft {
  readonly draft: ConsentDraft
  readonly claim: Claim | null
  readonly place?: Place | undefined
  /** True for `Sec-GPC: 1`. */
  readonly gpc?: boolean | undefined
}

export interface NewRecord extends Identity, State {
  readonly id: string
  readonly at: Date
  readonly recordHash: Buffer
  readonly link: Link
  readonly near_subject: string | null
  readonly notice_locale: string | null
  readonly notice_entry: number | null
  /** Null for a refusal, or if the notice has no validity. */
  readonly expires_at: Date | null
  readonly gpc: true | null
  readonly circumstances: Reported | null
}

export interface ImportedAnswer extends State {
  /** UTC with milliseconds. */
  readonly given_at: string
  /** SHA-256 in hexadecimal. */
  readonly file_sha256: string
  readonly circumstances?: Reported
}

export interface ImportClaim {
  readonly origin: Buffer
  readonly bodyHash: Buffer
}

export interface NewImport {
  readonly id: string
  readonly at: Date
  readonly identity: Required<Omit<Identity, 'notice_entry'>> & Pick<NewRecord, 'near_subject'>
  readonly recordHash: Buffer
  readonly claim: ImportClaim
  readonly entries: readonly { readonly answer: ImportedAnswer; readonly link: Link }[]
}

export interface FirstAnswer extends ConsentJson {
  key: string
  /** Empty after a purge. */
  body_hash: Buffer
}

export interface EntryRow extends State, FactColumns {
  consent_id: string
  version: number
  action: Action
  changed_by: Actor['kind']
  actor_id: string | null
  created_at: Date
  /** Null after a purge. */
  salt: Buffer | null
  payload_hash: Buffer
  hash: Buffer
  /** Null in entries whose payload does not contain it. */
  record_hash: Buffer | null
  sealed: Sealed | null
}

export interface ActionEntry {
  readonly action: Action
  readonly actor: Actor
  readonly link: BatchLink
  readonly gpc?: boolean
  readonly circumstances?: Reported | undefined
  readonly erased?: boolean
}

export interface ChainRow {
  id: string
  version: number
  chain_head: Buffer
  updated_at: Date
}

export interface StateRow extends ChainRow, State {}

/** Link for a record that must still be at `version`. */
export interface BatchLink extends Link {
  readonly id: string
  readonly version: number
  readonly at: Date
  readonly sealed?: Sealed | null
}

export interface DeletedRow {
  id: string
  site_id: string
  deleted_at: Date | null
}

export interface EventRow extends Identity, Omit<EntryRow, 'consent_id' | 'record_hash' | 'sealed'> {
  record_version: number
  record_hash: Buffer
  chain_head: Buffer
  expires_at: Date | null
}

export interface ExpiryFilters {
  readonly siteId?: string | undefined
  /** Exclusive; null for none. */
  readonly from: Date | null
  readonly to: Date
  readonly after?: { readonly at: Date; readonly id: string } | undefined
}

export interface ListFilters extends FilterValues {
  /** Exclusive bound of the id. */
  readonly before?: string | undefined
  readonly include_deleted?: boolean | undefined
}
