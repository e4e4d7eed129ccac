import type { BannerConsent, BannerDraft, Consent } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { createConsent } from '../consents/create.ts'
import type { Deps } from '../consents/deps.ts'
import type { Place } from '../net/geo.ts'

/** Facts about a visitor from the connection, never from the page. Null if unknown. */
export interface Connection {
  readonly address: string | null
  readonly userAgent: string | null
  readonly place: Place | null
}

export async function recordVisit(
  deps: Deps,
  caller: Caller,
  { address, userAgent, place }: Connection,
  draft: BannerDraft,
): Promise<BannerConsent> {
  const { json } = await createConsent(
    deps,
    caller,
    {
      ...draft,
      site_id: caller.id,
      ...(address !== null && { ip_address: address }),
      ...(userAgent !== null && { user_agent: userAgent }),
    },
    null,
    place ?? undefined,
  )
  const { id, consent_id, accepted, preferences, policy_version, created_at } = JSON.parse(json) as Consent
  return { id, consent_id, accepted, preferences, policy_version, created_at }
}
