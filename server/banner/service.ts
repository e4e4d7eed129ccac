import type { BannerConsent, BannerDraft, Consent } from '../../src/contract/index.ts'
import { createConsent } from '../consents/create.ts'
import type { Deps } from '../consents/deps.ts'
import type { Connection, Visitor } from './visitor.ts'

/** Records what a visitor chose; where from and with what comes from the connection, never from the page. */
export async function recordVisit(
  deps: Deps,
  { caller, policyVersion }: Visitor,
  { address, userAgent, place }: Connection,
  draft: BannerDraft,
): Promise<BannerConsent> {
  const { json } = await createConsent(
    deps,
    caller,
    {
      ...draft,
      site_id: caller.id,
      policy_version: draft.policy_version ?? policyVersion,
      ...(address !== null && { ip_address: address }),
      ...(userAgent !== null && { user_agent: userAgent }),
    },
    null,
    place ?? undefined,
  )
  const { id, consent_id, accepted, preferences, policy_version, created_at } = JSON.parse(json) as Consent
  return { id, consent_id, accepted, preferences, policy_version, created_at }
}
