import type { ConsentDraft } from '../../src/contract/index.ts'
import {
  type Actor,
  hashRecord,
  type Identity,
  type Link,
  linkOf,
  newSalt,
  type State,
} from '../../src/evidence/chain.ts'
import { nowhere, type Place } from '../geo/lookup.ts'
import { instantOf, newId } from '../ids.ts'
import { networkOf } from './address.ts'
import type { Deps } from './deps.ts'

/** A record as it begins, with its first entry's link in the hash chain. */
export interface NewRecord extends Identity, State {
  readonly id: string
  readonly at: Date
  readonly recordHash: Buffer
  readonly link: Link
}

/** Makes of a draft what is stored of it; of a policy of its site; its place is that of its address unless it is known better. */
export function newRecord(
  { config, geo }: Pick<Deps, 'config' | 'geo'>,
  actor: Actor,
  draft: ConsentDraft,
  policy: number,
  place: Place = draft.ip_address === undefined ? nowhere : geo.lookup(draft.ip_address),
): NewRecord {
  const id = newId()
  const at = instantOf(id)
  const record = {
    id,
    at,
    site_id: draft.site_id,
    consent_id: draft.consent_id ?? null,
    subject_id: draft.subject_id ?? null,
    country: place.country,
    region: place.region,
    user_agent: draft.user_agent ?? null,
    ip_network: draft.ip_address === undefined ? null : networkOf(draft.ip_address, config.ipStorage),
    accepted: draft.accepted ?? false,
    preferences: draft.preferences ?? {},
    policy_version: policy,
  }
  const salt = newSalt()
  const recordHash = hashRecord(record, salt)
  const event = {
    id,
    version: 1,
    action: 'created',
    actor,
    at,
    previous: null,
    state: record,
    recordHash,
  } as const
  return Object.assign(record, { recordHash, link: linkOf(event, salt) })
}
