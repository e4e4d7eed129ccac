import * as z from 'zod'
import { accountRead, endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { LanguageTag } from './languages.ts'
import { everyRole, publishers } from './roles.ts'
import { parseValidity } from './validity.ts'
import { Count, Id, Instant, Timestamp, text } from './values.ts'

export const noticeMediaTypes = ['text/plain', 'text/markdown', 'text/html', 'application/pdf'] as const
export type NoticeMediaType = (typeof noticeMediaTypes)[number]

export const maxNoticeTextBytes = 1024 * 1024

export const maxNoticeTexts = 100

export const Duration = z
  .string('must be text')
  .refine(
    value => parseValidity(value) !== null,
    'must be an ISO 8601 duration of at most 100 years, such as P1Y or P90D',
  )
  .meta({ pattern: '^P(\\d+W|(\\d+Y)?(\\d+M)?(\\d+D)?)$', examples: ['P1Y'] })

const purposeTitle = 'Marketing by e-mail'
const purposeIri = 'https://w3id.org/dpv#DirectMarketing'

/** One entry for each language of the title. */
export const NoticePurpose = z.object({
  key: z
    .string()
    .describe('A key of the preferences of records.')
    .meta({ examples: ['marketing'] }),
  title: z.string().meta({ examples: [purposeTitle] }),
  language: z
    .string()
    .nullable()
    .describe('Of the title; null if not reported.')
    .meta({ examples: ['en'] }),
  iri: z
    .string()
    .nullable()
    .describe('A term of the W3C Data Privacy Vocabulary.')
    .meta({ examples: [purposeIri] }),
})
export type NoticePurpose = z.output<typeof NoticePurpose>

const PurposeDraft = z.strictObject({
  key: text(1, 255).meta({ examples: ['marketing'] }),
  title: text(1, 255).meta({ examples: [purposeTitle] }),
  language: LanguageTag.nullable().optional(),
  iri: z
    .string('must be text')
    .max(255, 'must have at most 255 characters')
    .refine(
      value => /^https?:\/\/[^\s<>"{}|\\^`]+$/.test(value) && URL.canParse(value),
      'must be an IRI of http or https',
    )
    .nullable()
    .optional()
    .meta({ examples: [purposeIri] }),
})

const maxPurposes = 200

const Purposes = z
  .array(PurposeDraft, 'must be a list')
  .max(maxPurposes, `must have at most ${maxPurposes} entries`)
  .refine(
    list => new Set(list.map(({ key, language }) => JSON.stringify([key, language ?? null]))).size === list.length,
    'must not name a purpose twice in one language',
  )

export const NoticeText = z.object({
  language: z.string().meta({ examples: ['en'] }),
  media_type: z.string().meta({ enum: [...noticeMediaTypes] }),
  size: Count.meta({ minimum: 1 }).describe('In bytes.'),
  sha256: z.string().describe('Of exactly the bytes that were uploaded.').meta({ pattern: '^[\\da-f]{64}$' }),
})
export type NoticeText = z.output<typeof NoticeText>

const Details = {
  purposes: z.array(NoticePurpose),
  controller: z.string().nullable().describe('Name and contact details of the data controller.'),
  valid_for: z
    .string()
    .nullable()
    .describe(
      'How long a consent to it is valid after the creation or any update of its record: an ISO 8601 duration; null if it does not expire.',
    )
    .meta({ examples: ['P1Y'] }),
  requires_renewal: z.boolean().describe('True if it invalidates consents to earlier versions once in effect.'),
  effective_from: Timestamp.nullable().describe('Null: from its publication.'),
}

export const NoticeManifest = z.object({
  site_id: Id,
  policy_version: Count.meta({ minimum: 1 }),
  texts: z.array(NoticeText).describe('By language.'),
  ...Details,
})
export type NoticeManifest = z.output<typeof NoticeManifest>

export const Notice = NoticeManifest.extend({
  state: z.string().meta({ enum: ['draft', 'published'] }),
  revision: Count.meta({ minimum: 1 }).describe(
    'Starts at a random number and increases by one with each change of the draft.',
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
  published_at: Timestamp.nullable(),
  published_entry: Count.meta({ minimum: 1 })
    .nullable()
    .describe('The version of the administrators’ entry of its publication; null of a draft.'),
  leaf_index: Count.nullable().describe('The place of that entry in the log; null until it is there.'),
})
export type Notice = z.output<typeof Notice>

export const NoticeDraft = z.strictObject({
  purposes: Purposes.optional(),
  controller: text(1, 1000).nullable().optional(),
  valid_for: Duration.nullable().optional(),
  // A later version can correct false, but not revoke true.
  requires_renewal: z.boolean('must be true or false').optional().describe('Default: false.'),
  effective_from: Instant.nullable().optional(),
})
export type NoticeDraft = z.output<typeof NoticeDraft>

export const NoticePublication = z.strictObject({
  revision: z
    .int('must be an integer')
    .min(1, 'must be 1 or more')
    .optional()
    .describe('Of the draft as it was read: another one is a conflict. Default: the present one.'),
})
export type NoticePublication = z.output<typeof NoticePublication>

const path = '/api/v1/sites/:id/notices'

const uuid = z.string().meta({ format: 'uuid' })
const version = z.string().meta({ pattern: '^[1-9]\\d*$', examples: ['1'] })
const language = z.string().meta({ examples: ['en'] })

const OfSite = z.object({ id: uuid })
const OfVersion = z.object({ id: uuid, version })
const OfText = z.object({ id: uuid, version, language })

const reads = { ...accountRead, scope: ['read', 'notices'], siteKeys: 'filtered', roles: everyRole } as const
const writes = { access: 'account', scope: 'notices', siteKeys: 'filtered', roles: publishers, query: NoQuery } as const

export const notices = {
  list: endpoint({
    summary: 'List the notices of a site, newest version first',
    path,
    ...reads,
    params: OfSite,
    response: z.object({ data: z.array(Notice) }),
  }),
  get: endpoint({
    summary: 'Get the details of a notice and the digests of its texts',
    path: `${path}/:version`,
    ...reads,
    params: OfVersion,
    response: Notice,
  }),
  put: endpoint({
    summary: 'Create a draft of a notice, or replace its details',
    method: 'PUT',
    path: `${path}/:version`,
    ...writes,
    params: OfVersion,
    body: NoticeDraft,
    status: 200,
    response: Notice,
    errors: ['conflict'],
  }),
  remove: endpoint({
    summary: 'Remove a draft and its texts',
    method: 'DELETE',
    path: `${path}/:version`,
    ...writes,
    params: OfVersion,
    status: 204,
    response: z.null(),
    errors: ['conflict'],
  }),
  getText: endpoint({
    summary: 'Download a text of a notice',
    path: `${path}/:version/texts/:language`,
    ...reads,
    params: OfText,
    media: noticeMediaTypes,
    response: z.unknown(),
  }),
  putText: endpoint({
    summary: 'Upload a text of a draft',
    method: 'PUT',
    path: `${path}/:version/texts/:language`,
    ...writes,
    params: OfText,
    bodyMedia: noticeMediaTypes,
    status: 200,
    response: Notice,
    errors: ['conflict', 'payload_too_large'],
  }),
  removeText: endpoint({
    summary: 'Remove a text of a draft',
    method: 'DELETE',
    path: `${path}/:version/texts/:language`,
    ...writes,
    params: OfText,
    status: 204,
    response: z.null(),
    errors: ['conflict'],
  }),
  publish: endpoint({
    summary: 'Publish a draft; it cannot change afterwards',
    method: 'POST',
    path: `${path}/:version/publish`,
    ...writes,
    params: OfVersion,
    body: NoticePublication,
    status: 200,
    response: Notice,
    errors: ['conflict'],
  }),
}

const exampleText = 'We use your address to send you our newsletter.'

export const noticesDocs: ResourceDocs<typeof notices> = {
  description:
    'The notices shown to people: the texts of each policy version of a site, in each language. A draft can change; what is published cannot, by any route (409).',
  endpoints: {
    put: {
      description:
        'A field that is left out gets its default. `requires_renewal` is false unless given: consents to earlier versions then stay valid for the purposes that their own notice names.',
    },
    getText: {
      description:
        'Always a download: `Content-Disposition: attachment`, `nosniff`, and a policy in whose sandbox nothing runs.',
      success: 'Exactly the bytes that were uploaded.',
      text: exampleText,
    },
    putText: {
      description: `The body is the text itself, at most 1 MiB, and UTF-8 unless it is a PDF. A notice has at most ${maxNoticeTexts} texts.`,
      text: exampleText,
    },
    publish: {
      description:
        'Its entry of the administrators’ log is under a signed checkpoint when this responds. The site then has this policy version, if it is higher than the present one and `effective_from` is absent or past. Publishing again what is published changes nothing, but completes what was interrupted; after `effective_from` it sets the policy version, unless that was changed since.',
    },
  },
}
