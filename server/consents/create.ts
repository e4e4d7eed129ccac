import type { ConsentDraft } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { Failure, unavailable } from '../failure.ts'
import type { Place } from '../geo/lookup.ts'
import { claimOf, replayOf } from './idempotency.ts'
import { findFirstAnswer, insertConsent } from './queries.ts'
import { newRecord } from './record.ts'
import type { Shown } from './rows.ts'
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
  place?: Place,
): Promise<Creation> {
  const { sql, policies } = deps
  const { accountId } = caller
  const isSitesPolicy = draft.policy_version === undefined
  let policy = draft.policy_version ?? (await policies.guess(sql, accountId, draft.site_id))
  for (let attempt = 0; policy !== undefined && attempt < attempts; attempt += 1) {
    const record = newRecord(deps, caller, draft, policy, place)
    const entry = { action: 'created', actor: caller, at: record.at, link: record.link } as const
    const claim = key === null ? null : claimOf(key, draft, record.at)
    const row = await insertConsent(sql, accountId, record, entry, { claim, isSitesPolicy })
    if (row) return { shown: row.shown, isReplayed: false }
    const first = claim && (await findFirstAnswer(sql, accountId, claim.key))
    if (first) return { shown: replayOf(first, claim).shown, isReplayed: true }
    const current = await policies.read(sql, accountId, draft.site_id)
    policy = current === undefined ? undefined : (draft.policy_version ?? current)
  }
  throw policy === undefined ? noSite() : changed()
}

export function noSite(): Failure {
  return new Failure('not_found', 'There is no such site.')
}

/** A key that ended between the two statements that looked at it, or a policy that changes all the time. */
export function changed(): Failure {
  return unavailable('What the record depends on was just changed.')
}
