import * as z from 'zod'
import { Consent, ConsentDraft } from './consents.ts'
import { endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { Preferences } from './json.ts'

export const invalidConsentToken = 'is not valid, or no longer: record the consent without it'

/** Anyone can send them, so statistics by preference need a limit. */
const maxPreferences = 32

/** The token names the site; address and user agent come from the connection. */
export const BannerDraft = ConsentDraft.omit({ site_id: true, ip_address: true, user_agent: true }).extend({
  preferences: Preferences.refine(
    preferences => Object.keys(preferences).length <= maxPreferences,
    `must have at most ${maxPreferences} keys`,
  )
    .meta({ maxProperties: maxPreferences })
    .optional()
    .describe('Default: {}.'),
  consent_token: z
    .string(invalidConsentToken)
    .regex(/^ct-[\w-]{60}$/, invalidConsentToken)
    .optional()
    .describe(
      'From the last response to this visitor: changes that record instead of creating one; absent fields stay.',
    ),
  idempotency_key: z
    .string('must be text')
    .regex(/^[\x20-\x7e]{16,255}$/, 'must be 16 to 255 printable ASCII characters, made at random')
    .optional()
    .describe(
      'Idempotency key for 24 hours: a page whose response was lost can send the same content again. The response has the same `consent_token`, so the key must be random (`crypto.randomUUID()`). Ignored with a `consent_token`.',
    ),
})
export type BannerDraft = z.output<typeof BannerDraft>

export const BannerConsent = Consent.pick({
  id: true,
  consent_id: true,
  accepted: true,
  preferences: true,
  policy_version: true,
  created_at: true,
}).extend({
  consent_token: z.string().describe('Changes the record as it is now, for 400 days; a secret of the visitor.'),
})
export type BannerConsent = z.output<typeof BannerConsent>

/** Service specification section 4.7. */
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
    errors: ['forbidden', 'conflict', 'rate_limited'],
  }),
  klaro: endpoint({
    summary: 'Record a consent as Klaro submits it to its `apiUrl`',
    method: 'POST',
    path: '/api/v1/public/klaro/v1/privacy-managers/:token/submit',
    access: 'site_token',
    params: z.object({
      token: z.string().describe('The site’s token, and `;required=a,b` for services that cannot be refused.'),
    }),
    query: NoQuery,
    bodyMedia: ['text/plain'],
    status: 200,
    response: z.object({ id: Consent.shape.id.nullable().describe('Null if the notice was only shown.') }),
    errors: ['forbidden', 'rate_limited'],
  }),
}

export const bannerDocs: ResourceDocs<typeof banner> = {
  description: 'The public flow of browsers, with the token of a site.',
  endpoints: {
    create: {
      description:
        'Address, user agent and site are those of the connection and the token. Pages may send it from the origins that the site allows: a preflight gets the same response for every origin, and the response to the request has `Access-Control-Allow-Origin`. With the `consent_token` of the last answer the visitor’s record is changed instead, as by a PUT: absent fields stay as they are. An acceptance that has expired is renewed if it is given again. With `accepted: false` it is changed under whatever notice, and keeps its own. Else a record never changes its notice: if the policy version (the named one, else that of the site) or `notice_locale` is another than the record’s, a new record is made, of the same `consent_id` and `subject_id`. It takes nothing else from the old one, so `accepted` and `preferences` are both needed: without either it is a 400. Another `consent_id` or `subject_id` than the record’s is a 400. A token is of one version of its record. The very same request again gets the same answer, so that it can be sent again if the answer was lost; any other request with a used token is a 409. A token that is malformed, forged, of another site, expired, or of a deleted record is one and the same 400. After either, record the consent without the token.',
      success: 'The recorded state, and the token for the next change.',
    },
    klaro: {
      description:
        'What Klaro 0.7 sends with `data-klaro-api-url` `…/api/v1/public/klaro` and `data-klaro-id` `st-…`, and nothing else. Its services become the preferences, the id of its configuration the `consent_id`; the location is not kept. It is accepted if a service is that is not named as required. A notice that was shown is no consent and records nothing. Klaro keeps nothing of the answer: each choice is a record of its own, without a `subject_id`.',
      success: 'The created record.',
      text: '{"consent_data":{"consents":{"analytics":true},"changes":{"analytics":true},"type":"save"},"location_data":{"pathname":"/","port":0,"hostname":"shop.example","protocol":"https"},"user_data":{"client_version":"0.7.22","client_name":"klaro:web"}}',
    },
  },
}
