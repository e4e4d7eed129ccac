import type * as z from 'zod'
import { Consent, ConsentDraft } from './consents.ts'
import { endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'

/** The site comes from the token, the address and the user agent from the connection. */
export const BannerDraft = ConsentDraft.omit({ site_id: true, ip_address: true, user_agent: true })
export type BannerDraft = z.output<typeof BannerDraft>

export const BannerConsent = Consent.pick({
  id: true,
  consent_id: true,
  accepted: true,
  preferences: true,
  policy_version: true,
  created_at: true,
})
export type BannerConsent = z.output<typeof BannerConsent>

/** The public flow (service specification section 4.7). */
export const banner = {
  create: endpoint({
    summary: 'Record a consent from a banner in a browser',
    method: 'POST',
    path: '/api/v1/public/consent',
    access: 'site_token',
    query: NoQuery,
    body: BannerDraft,
    status: 201,
    response: BannerConsent,
    errors: ['forbidden', 'rate_limited'],
  }),
}

export const bannerDocs: ResourceDocs<typeof banner> = {
  description: 'The public flow of browsers, with the token of a site.',
  endpoints: {
    create: {
      description:
        'Address, user agent and site are those of the connection and the token. Pages may send it from the origins that the site allows: a preflight gets the same response for every origin, and the response to the request has `Access-Control-Allow-Origin`.',
      success: 'What was recorded.',
    },
  },
}
