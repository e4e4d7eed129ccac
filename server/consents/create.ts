import type { Consent, ConsentDraft } from '../../src/contract/index.ts'
import { type Event, hashRecord, linkOf, newSalt } from '../../src/evidence/chain.ts'
import type { Caller } from '../auth/caller.ts'
import { Failure, unavailable } from '../failure.ts'
import { nowhere } from '../geo/lookup.ts'
import { instantOf, newId } from '../ids.ts'
import { networkOf } from './address.ts'
import { hashBody, hashKey, validity } from './idempotency.ts'
import { findFirstAnswer, findPolicyVersion, insertConsent } from './queries.ts'
import type { Claim } from './rows.ts'
import type { Deps } from './service.ts'
import { toConsent } from './view.ts'

export interface Creation {
  readonly consent: Consent
  /** Whether it was made by an earlier request with the same key. */
  readonly isReplayed: boolean
}

/**
 * Creates a record; with a key that was used in the last 24 hours it returns the first answer again. Throws `not_found`
 * where the caller has no such site, and `conflict` for a key that came with another body, or whose record was purged.
 */
export async function createConsent(
  { sql, config, geo }: Deps,
  caller: Caller,
  draft: ConsentDraft,
  key: string | null,
  place = draft.ip_address === undefined ? nowhere : geo.lookup(draft.ip_address),
): Promise<Creation> {
  const { accountId } = caller
  const policy = draft.policy_version ?? (await findPolicyVersion(sql, accountId, draft.site_id))
  if (policy === undefined) throw noSite()
  const id = newId()
  const at = instantOf(id)
  const state = {
    accepted: draft.accepted ?? false,
    preferences: draft.preferences ?? {},
    policy_version: policy,
  }
  const identity = {
    site_id: draft.site_id,
    consent_id: draft.consent_id ?? null,
    subject_id: draft.subject_id ?? null,
    ...place,
    user_agent: draft.user_agent ?? null,
    ip_network: draft.ip_address === undefined ? null : networkOf(draft.ip_address, config.ipStorage),
  }
  const salt = newSalt()
  const recordHash = hashRecord(identity, salt)
  const event: Event = {
    id,
    version: 1,
    action: 'created',
    actor: caller,
    at,
    previous: null,
    state,
    recordHash,
  }
  const entry = { action: event.action, actor: caller, at, link: linkOf(event, salt) }
  const claim = key === null ? null : claimOf(key, draft, at)
  const row = await insertConsent(sql, accountId, { ...identity, ...state, id, recordHash }, entry, claim)
  if (row) return { consent: toConsent(row), isReplayed: false }
  const first = claim && (await findFirstAnswer(sql, accountId, claim.key))
  if (!first) {
    if (!claim || (await findPolicyVersion(sql, accountId, draft.site_id)) === undefined) throw noSite()
    throw unavailable('The Idempotency-Key was just forgotten.') // between the two statements
  }
  if (first.body_hash.length === 0) {
    throw new Failure('conflict', 'The record of this Idempotency-Key was erased.')
  }
  if (!first.body_hash.equals(claim.bodyHash)) {
    throw new Failure('conflict', 'The Idempotency-Key was used with another body.')
  }
  return { consent: toConsent(first), isReplayed: true }
}

function claimOf(key: string, draft: ConsentDraft, at: Date): Claim {
  return { key: hashKey(key), bodyHash: hashBody(draft), freeBefore: new Date(at.getTime() - validity) }
}

function noSite(): Failure {
  return new Failure('not_found', 'There is no such site.')
}
