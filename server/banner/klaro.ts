import * as z from 'zod'
import { BannerDraft } from '../../src/contract/index.ts'
import { Failure } from '../failure.ts'

const choices = ['accept', 'save', 'decline', 'contextual-accept'] as const

/** Types without a choice: the notice was shown, or the page's code saved something. */
const silence = ['show', 'script'] as const

/** Body of Klaro 0.7 (src/utils/api.js of the package `klaro`). The visitor's location is not stored. */
const Submission = z.strictObject({
  consent_data: z.strictObject({
    consents: z.record(z.string(), z.boolean()),
    changes: z.record(z.string(), z.boolean()).optional(),
    type: z.enum([...choices, ...silence]),
    config: BannerDraft.shape.consent_id,
  }),
  location_data: z.strictObject({
    pathname: z.string().optional(),
    port: z.int(),
    hostname: z.string(),
    protocol: z.string(),
  }),
  user_data: z.strictObject({ client_version: z.string(), client_name: z.string() }),
})

/**
 * Parses Klaro's `data-klaro-id`: `st-…`, or `st-…;required=a,b` with services that cannot be refused.
 * @throws Failure `invalid_request` for other text after the token
 */
export function parseKlaroId(text: string): { token: string; required: readonly string[] } {
  const [, token = '', more] = /^([^;]*)(?:;(.*))?$/s.exec(text) ?? []
  if (more === undefined) return { token, required: [] }
  const [, names] = /^required=(.+)$/s.exec(more) ?? []
  if (names === undefined)
    throw new Failure('invalid_request', 'Only ;required= and names of services may follow the token.')
  return { token, required: names.split(',') }
}

/** Returns null if the visitor made no choice. @throws ZodError for a body that Klaro does not send */
export function klaroDraft(body: unknown, required: readonly string[]): BannerDraft | null {
  const { consents, type, config } = Submission.parse(body).consent_data
  if ((silence as readonly string[]).includes(type)) return null
  const isGiven = Object.entries(consents).some(([name, given]) => given && !required.includes(name))
  const accepted = type !== 'decline' && isGiven
  return BannerDraft.parse({ accepted, preferences: consents, ...(config !== undefined && { consent_id: config }) })
}
