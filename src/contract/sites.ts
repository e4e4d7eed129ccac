import * as z from 'zod'
import { accountRead, ById, endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { Duration } from './notices.ts'
import { everyRole, owners } from './roles.ts'
import { parseValidity } from './validity.ts'
import { Count, Id, optional, PolicyVersion, QueryBoolean, Timestamp, text } from './values.ts'

const path = '/api/v1/sites'

/** What the period of a retention counts from. */
export const retentionStarts = ['withdrawal', 'expiry', 'last_change', 'creation'] as const

export const Retention = z
  .strictObject({
    period: Duration.describe('An ISO 8601 duration, added in calendar months and days (UTC).'),
    after: z
      .enum(retentionStarts, `must be one of ${retentionStarts.join(', ')}`)
      .describe(
        'withdrawal: the last answer that withdrew the consent. expiry: `expires_at`. last_change: `updated_at`. creation: `created_at`. A record without it is kept.',
      ),
  })
  .meta({ examples: [{ period: 'P3Y', after: 'withdrawal' }] })
export type Retention = z.output<typeof Retention>

export const SealedSetting = z
  .strictObject({
    basis: text(1, 200).describe('Why the site keeps it, such as its legal basis.'),
    period: Duration.describe('An ISO 8601 duration after the deletion, in calendar months and days (UTC).'),
  })
  .meta({ examples: [{ basis: 'GDPR Art. 17(3)(e)', period: 'P10Y' }] })
export type SealedSetting = z.output<typeof SealedSetting>

/**
 * True if the retention alone would delete a consent that is still valid by a notice. Months count as 30.4375 days: a
 * day decides nothing, because the service keeps each record until its consent has ended.
 */
export function isShorterThanNotice({ period, after }: Retention, validFor: string | null): boolean {
  if (after === 'withdrawal' || after === 'expiry') return false
  return validFor === null || inDays(period) < inDays(validFor)
}

function inDays(duration: string): number {
  const { months, days } = parseValidity(duration) ?? { months: 0, days: 0 }
  return months * 30.4375 + days
}

export const Site = z.object({
  id: Id,
  name: z.string(),
  policy_version: Count.meta({ minimum: 1 }),
  allowed_origins: z.array(z.string().meta({ format: 'uri' })),
  retention: z
    .object({ period: z.string(), after: z.enum(retentionStarts) })
    .nullable()
    .default(null)
    .describe('When records are deleted; null for never.'),
  sealed_proof: z
    .object({
      basis: z.string(),
      period: z.string(),
      since: Timestamp.describe('When it was turned on: no record deleted before then leaves a proof.'),
    })
    .nullable()
    .default(null)
    .describe('Why, and for how long after a deletion, a purge keeps a sealed proof; null for none.'),
  created_at: Timestamp,
  updated_at: Timestamp,
  strict_notices: z
    .boolean()
    .default(false)
    .describe('True if a consent is rejected unless the notice of its policy version is published.'),
  archived_at: optional(Timestamp).describe(
    'When the site was archived: since then it accepts no records and rejects its tokens. Null for a site in use.',
  ),
})
export type Site = z.output<typeof Site>

/** An origin as browsers send it (RFC 6454 section 6.2). */
export const Origin = z
  .string('must be text')
  .max(255, 'must have at most 255 characters')
  .refine(isOrigin, 'must be an origin, such as https://www.example.com')
  .meta({ format: 'uri', pattern: '^https?://[^\\s/?#@]+$' })

const AllowedOrigins = z
  .array(Origin, 'must be a list')
  .max(100, 'must have at most 100 entries')
  .refine(list => new Set(list).size === list.length, 'must not name an origin twice')
  .meta({ uniqueItems: true })

export const SiteDraft = z.strictObject({
  name: text(1, 100),
  policy_version: PolicyVersion.optional(),
  allowed_origins: AllowedOrigins.optional(),
  retention: Retention.nullable().optional().describe('When records are deleted. Default: null, for never.'),
  sealed_proof: SealedSetting.nullable()
    .optional()
    .describe(
      'What a purge keeps of a record with a subject that is deleted from now on, until the period after the deletion ends: an HMAC of the subject and the answers. Default: null, for nothing.',
    ),
  strict_notices: z.boolean('must be true or false').optional().describe('Default: false.'),
  allow_duplicate: z
    .boolean('must be true or false')
    .optional()
    .describe('True if another site that is not archived may have the same name. Default: false.'),
})
export type SiteDraft = z.output<typeof SiteDraft>

export const SiteChange = SiteDraft.partial().extend({
  archived: z
    .boolean('must be true or false')
    .optional()
    .describe('True archives the site: its tokens and new records are rejected. False restores it.'),
})
export type SiteChange = z.output<typeof SiteChange>

export const SiteQuery = z.strictObject({
  include_archived: QueryBoolean.optional().describe('Include archived sites.'),
})

export const NewSite = Site.extend({ token: z.string().meta({ pattern: '^st-' }) })
export type NewSite = z.output<typeof NewSite>

export const TokenRotation = z.strictObject({
  overlap_hours: z
    .int('must be an integer')
    .min(0, 'must be from 0 to 720')
    .max(720, 'must be from 0 to 720')
    .optional(),
})
export type TokenRotation = z.output<typeof TokenRotation>

export const NewToken = z.object({
  site_id: Id,
  token: z.string().meta({ pattern: '^st-' }),
  previous_valid_until: Timestamp.describe('When earlier tokens expire.'),
})
export type NewToken = z.output<typeof NewToken>

export const sites = {
  list: endpoint({
    ...accountRead,
    siteKeys: 'filtered',
    roles: everyRole,
    summary: 'List the sites of the account, newest first',
    path,
    scope: ['read', 'notices'],
    unit: 'free',
    query: SiteQuery,
    response: z.object({ data: z.array(Site) }),
  }),
  create: endpoint({
    summary: 'Create a site; only this response has its token',
    method: 'POST',
    path,
    access: 'session',
    roles: owners,
    query: NoQuery,
    body: SiteDraft,
    status: 201,
    response: NewSite,
    errors: ['conflict'],
  }),
  update: endpoint({
    summary: 'Change the name or the settings of a site, or archive it',
    method: 'PATCH',
    path: `${path}/:id`,
    access: 'session',
    roles: owners,
    params: ById,
    query: NoQuery,
    body: SiteChange,
    status: 200,
    response: Site,
    errors: ['conflict'],
  }),
  rotateToken: endpoint({
    summary: 'Issue a new token for a site; earlier ones expire later',
    method: 'POST',
    path: `${path}/:id/token`,
    access: 'session',
    roles: owners,
    params: ById,
    query: NoQuery,
    body: TokenRotation,
    status: 201,
    response: NewToken,
    errors: ['conflict'],
  }),
}

const originForm = /^https?:\/\/([a-z\d_]([\w.-]*[a-z\d_])?|\[[\da-f:]+\])(:[1-9]\d*)?$/

function isOrigin(value: string): boolean {
  return originForm.test(value) && URL.canParse(value) && new URL(value).origin === value
}

export const sitesDocs: ResourceDocs<typeof sites> = {
  description: 'Sites and their tokens. An API key can only list them.',
  endpoints: {
    list: { description: 'Without tokens, of which only hashes are kept. It takes no unit of the quota.' },
    create: {
      description:
        'The name of another site is rejected (409), unless `allow_duplicate` is true or that site is archived.',
    },
    update: {
      description:
        'An archived site is not in the list without `include_archived`. Its records and their histories stay, can be read, changed and deleted, and are deleted by its retention. A retention counted from `last_change` or `creation` that is shorter than a consent is valid by a published notice of the site is rejected (409). A change of `sealed_proof` is for later purges: what earlier ones sealed is kept as they said. Its `since` is when it was turned on; a change of the basis or the period keeps it.',
    },
    rotateToken: {
      description: 'Earlier tokens expire after `overlap_hours`: 24 by default, and at once with 0.',
    },
  },
}
