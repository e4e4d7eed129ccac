import type { BannerConsent, BannerDraft, Consent } from '../../src/contract/index.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import { canonical } from '../../src/evidence/canonical.ts'
import type { Caller } from '../auth/caller.ts'
import { createConsent } from '../consents/create.ts'
import type { ConsentDeps } from '../consents/deps.ts'
import { Failure } from '../failure.ts'
import type { NodeState } from '../health/monitor.ts'
import type { Place } from '../net/geo.ts'
import { changeByToken, invalidToken, type Visit } from './change.ts'
import { decodeConsentToken, encodeConsentToken, type TokenScope } from './consent-token.ts'

/** Facts from the visitor's connection, never from the page. */
export interface Connection {
  readonly address: string | null
  readonly userAgent: string | null
  readonly place: Place | null
  /** `Sec-GPC: 1` (Global Privacy Control), which does not change the answer. */
  readonly gpc: boolean
}

export interface VisitDeps extends ConsentDeps {
  readonly consentTokenSecret: Buffer
  readonly state: Pick<NodeState, 'now'>
}

/**
 * Changes the record of the `consent_token`, or creates one.
 * @throws Failure `invalid_request` for an invalid token; as `createConsent` and `changeByToken`
 */
export async function recordVisit(
  deps: VisitDeps,
  caller: Caller,
  connection: Connection,
  { consent_token: token, idempotency_key, ...draft }: BannerDraft,
): Promise<BannerConsent> {
  const scope = { secret: deps.consentTokenSecret, accountId: caller.accountId, siteId: caller.id }
  const { json, version } =
    token === undefined
      ? await createVisit(deps, caller, connection, {
          draft,
          key: idempotency_key === undefined ? null : `\0${caller.id} ${idempotency_key}`,
        })
      : await continueVisit(deps, caller, connection, { draft, token, scope, key: idempotency_key })
  const { id, consent_id, accepted, preferences, policy_version, created_at } = JSON.parse(json) as Consent
  const consent_token = encodeConsentToken(scope, { id, version }, deps.state.now())
  return { id, consent_id, accepted, preferences, policy_version, created_at, consent_token }
}

/** A successor for another notice keeps the identifiers, so that it can be withdrawn. */
async function continueVisit(
  deps: VisitDeps,
  caller: Caller,
  connection: Connection,
  { draft, token, scope, key }: { draft: Visit['draft']; token: string; scope: TokenScope; key: string | undefined },
) {
  const from = decodeConsentToken(scope, token, deps.state.now())
  if (!from) throw invalidToken()
  const { gpc } = connection
  const requestHash = sha256(canonical({ ...draft, gpc, ...(key !== undefined && { key }) }))
  const result = await changeByToken(deps, caller, from, { draft, gpc, requestHash })
  if (!('predecessor' in result)) return result
  const { consent_id, subject_id, sites_policy } = result.predecessor
  const { policy_version = sites_policy, notice_locale = '' } = draft
  const successor = createVisit(deps, caller, connection, {
    draft: { ...(consent_id !== null && { consent_id }), ...(subject_id !== null && { subject_id }), ...draft },
    key: `\0${token} ${policy_version} ${notice_locale}`,
  })
  return await successor.catch(error => {
    throw error instanceof Failure && error.code === 'conflict' ? tokenConflict() : error
  })
}

/** The page sent no Idempotency-Key. */
function tokenConflict(): Failure {
  return new Failure('conflict', 'The consent_token was already used for another answer.')
}

/**
 * Creates at most one record a day for the same answer and key. Banner keys begin with NUL, which no header contains.
 */
async function createVisit(
  deps: ConsentDeps,
  caller: Caller,
  { address, userAgent, place, gpc }: Connection,
  { draft, key = null }: { draft: Visit['draft']; key?: string | null },
) {
  const { json } = await createConsent(
    deps,
    caller,
    {
      ...draft,
      site_id: caller.id,
      ...(address !== null && { ip_address: address }),
      ...(userAgent !== null && { user_agent: userAgent }),
    },
    key,
    { body: draft, place: place ?? undefined, gpc },
  )
  return { json, version: 1 }
}
