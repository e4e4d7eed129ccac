import { type BannerDraft, invalidConsentToken } from '../../src/contract/index.ts'
import { sameJson } from '../../src/evidence/canonical.ts'
import type { Facts, State } from '../../src/evidence/chain.ts'
import type { Caller } from '../auth/caller.ts'
import { toFacts } from '../consents/create.ts'
import type { ConsentDeps } from '../consents/deps.ts'
import { updateConsent } from '../consents/queries.ts'
import type { ConsentJson } from '../consents/rows.ts'
import { nextLink } from '../consents/service.ts'
import { Failure, unavailable } from '../failure.ts'
import { findExpiry, findValidity } from '../notices/published.ts'
import type { RecordVersion } from './consent-token.ts'
import { findVisitedRecord, type VisitedRecord } from './queries.ts'

/** The second read decides a lost race, unless the site's policy changed. */
const maxAttempts = 3

export interface Visit {
  readonly draft: Omit<BannerDraft, 'consent_token' | 'idempotency_key'>
  readonly gpc: boolean
}

interface TokenVisit extends Visit {
  /** SHA-256 of the request without its token, whose version is compared. */
  readonly requestHash: Buffer
}

interface Changed extends ConsentJson {
  readonly version: number
}

export interface Predecessor {
  readonly predecessor: VisitedRecord
}

/**
 * Changes a token's record from the token's version to the next. Repeats the response to the same request, because it
 * may have been lost.
 * @throws Failure `conflict` if another change came in between; as `findRecord`, `rejectOtherPerson` and
 * `rejectPartialAnswer`
 */
export async function changeByToken(
  deps: ConsentDeps,
  caller: Caller,
  token: RecordVersion,
  { draft, gpc, requestHash }: TokenVisit,
): Promise<Changed | Predecessor> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const row = await findRecord(deps, caller, token)
    rejectOtherPerson(row, draft)
    if (row.version === token.version + 1 && row.request_hash?.equals(requestHash)) return row
    if (row.version !== token.version)
      throw new Failure('conflict', 'The record has changed since the consent_token was issued.')
    if (isOtherNotice(row, draft)) {
      rejectPartialAnswer(draft)
      return { predecessor: row }
    }
    if (changesNothing(row, draft, gpc)) return row
    const { accepted = row.accepted, preferences = row.preferences } = draft
    const state = { accepted, preferences, policy_version: row.policy_version }
    const isSitesPolicy = draft.policy_version === undefined && draft.accepted !== false
    const facts = toFacts(gpc, draft)
    const written = await write(deps, caller, row, { ...state, facts, isSitesPolicy, requestHash })
    if (written) return { ...written, version: row.version + 1 }
  }
  throw unavailable('The site was changed concurrently.')
}

/** An acceptance after the expiry is a change: the period restarts. */
function changesNothing(row: VisitedRecord, draft: BannerDraft, gpc: boolean): boolean {
  const { accepted = row.accepted, preferences = row.preferences } = draft
  const isRenewal = draft.accepted === true && row.expires_at !== null && row.expires_at.getTime() <= Date.now()
  const isSame = accepted === row.accepted && sameJson(preferences, row.preferences) && gpc === (row.gpc ?? false)
  return isSame && !isRenewal
}

/** @throws Failure `invalid_request` for a deleted record, as for an invalid token */
async function findRecord({ sql }: ConsentDeps, { accountId, id: siteId }: Caller, { id }: RecordVersion) {
  const row = await findVisitedRecord(sql, { accountId, siteId, id })
  if (!row) throw invalidToken()
  return row
}

async function write(
  deps: ConsentDeps,
  caller: Caller,
  row: VisitedRecord,
  {
    facts,
    isSitesPolicy,
    requestHash,
    ...state
  }: State & Pick<TokenVisit, 'requestHash'> & { readonly facts: Facts; readonly isSitesPolicy: boolean },
) {
  const validFor = await findValidity(deps, caller.accountId, row)
  const link = nextLink(row, caller, { action: 'updated', state, facts })
  const expiresAt = findExpiry(link.at, state.accepted, validFor)
  const after = { ...state, isSitesPolicy, requestHash, deleted_at: null, expiresAt }
  return await updateConsent(deps.sql, caller.accountId, after, { action: 'updated', actor: caller, link, ...facts })
}

/** Browsers can be shared. @throws Failure `invalid_request` for another consent_id or subject_id */
function rejectOtherPerson(row: VisitedRecord, draft: BannerDraft): void {
  for (const name of ['consent_id', 'subject_id'] as const) {
    if (draft[name] === undefined || draft[name] === row[name]) continue
    throw new Failure('invalid_request', `${name}: must match the consent_token’s record`)
  }
}

/** A refusal is not bound to a text. */
function isOtherNotice(row: VisitedRecord, { accepted, policy_version, notice_locale }: BannerDraft): boolean {
  if (accepted === false) return false
  return (
    (policy_version ?? row.sites_policy) !== row.policy_version ||
    (notice_locale !== undefined && notice_locale !== row.notice_locale)
  )
}

/** An answer to the old notice says nothing about a new one. @throws Failure `invalid_request` for missing fields */
function rejectPartialAnswer(draft: BannerDraft): void {
  const absent = (['accepted', 'preferences'] as const).filter(name => draft[name] === undefined)
  if (absent.length === 0) return
  throw new Failure('invalid_request', `${absent.join(', ')}: required, because the record has a different notice`)
}

export function invalidToken(): Failure {
  return new Failure('invalid_request', `consent_token: ${invalidConsentToken}`)
}
