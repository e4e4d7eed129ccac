import type { ConsentDraft } from '../../src/contract/index.ts'
import { type Event, hashRecord, linkOf, newSalt } from '../../src/evidence/chain.ts'
import type { Caller } from '../auth/caller.ts'
import { Failure, unavailable } from '../failure.ts'
import { nowhere } from '../geo/lookup.ts'
import { instantOf, newId } from '../ids.ts'
import { networkOf } from './address.ts'
import { hashBody, hashKey, validity } from './idempotency.ts'
import { findFirstAnswer, insertConsent } from './queries.ts'
import type { Claim, Shown } from './rows.ts'
import type { Deps } from './service.ts'

export interface Creation extends Readonly<Shown> {
  /** Whether it was made by an earlier request with the same key. */
  readonly isReplayed: boolean
}

/** How often a record is made anew because the site's policy was another one than this node knew. */
const attempts = 3

/**
 * Creates a record; with a key that was used in the last 24 hours it returns the first answer again. Throws `not_found`
 * where the caller has no such site, and `conflict` for a key that came with another body, or whose record was purged.
 */
export async function createConsent(
  deps: Deps,
  caller: Caller,
  draft: ConsentDraft,
  key: string | null,
  place = draft.ip_address === undefined ? nowhere : deps.geo.lookup(draft.ip_address),
): Promise<Creation> {
  const { sql, policies } = deps
  const site = [sql, caller.accountId, draft.site_id] as const
  let policy = draft.policy_version ?? (await policies.guess(...site))
  for (let attempt = 0; policy !== undefined && attempt < attempts; attempt += 1) {
    const row = await insert(deps, caller, { draft, policy, place, key })
    if (row) return { shown: row.shown, isReplayed: false }
    const first = key === null ? undefined : await findFirstAnswer(sql, caller.accountId, hashKey(key))
    if (first) return { shown: replayed(first, draft), isReplayed: true }
    const current = await policies.read(...site)
    policy = current === undefined ? undefined : (draft.policy_version ?? current)
  }
  if (policy === undefined) throw noSite()
  throw unavailable('The Idempotency-Key was just forgotten, or the policy of the site changes all the time.')
}

interface Making {
  readonly draft: ConsentDraft
  readonly policy: number
  readonly place: typeof nowhere
  readonly key: string | null
}

function insert({ sql, config }: Deps, caller: Caller, { draft, policy, place, key }: Making) {
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
  const record = { ...identity, ...state, id, recordHash }
  return insertConsent(sql, caller.accountId, record, entry, {
    claim: key === null ? null : claimOf(key, draft, at),
    isSitesPolicy: draft.policy_version === undefined,
  })
}

/** The first answer to a key, if this is the body that it came with. */
function replayed({ shown, body_hash }: Shown & { body_hash: Buffer }, draft: ConsentDraft): string {
  if (body_hash.length === 0) {
    throw new Failure('conflict', 'The record of this Idempotency-Key was erased.')
  }
  if (!body_hash.equals(hashBody(draft))) {
    throw new Failure('conflict', 'The Idempotency-Key was used with another body.')
  }
  return shown
}

function claimOf(key: string, draft: ConsentDraft, at: Date): Claim {
  return { key: hashKey(key), bodyHash: hashBody(draft), freeBefore: new Date(at.getTime() - validity) }
}

function noSite(): Failure {
  return new Failure('not_found', 'There is no such site.')
}
