import * as z from 'zod'
import { RecordOrigin } from './consents.ts'
import { accountRead, type EndpointDocs, endpoint, NoQuery } from './endpoint.ts'
import { readers } from './roles.ts'
import { Count, Id, Instant, onRequest, optional, QueryBoolean, Timestamp, text, Uuid } from './values.ts'

export const checkReasons = [
  'consented',
  'no_record',
  'purpose_not_answered',
  'refused',
  'withdrawn',
  'purpose_not_in_notice',
  'expired',
  'renewal_required',
] as const
export type CheckReason = (typeof checkReasons)[number]

export const CheckQuery = z.strictObject({
  subject_id: text(1, 255).describe('Identifier of the data subject, compared exactly.'),
  purpose: text(1, 255)
    .describe('A key of the preferences.')
    .meta({ examples: ['marketing'] }),
  site_id: Uuid.optional().describe('Only records of this site.'),
  at: Instant.optional()
    .describe('The state at this past time. Default: now.')
    .meta({ examples: ['2026-03-03T10:00:00Z'] }),
  only_witnessed: QueryBoolean.optional().describe('True ignores imported answers.'),
})
export type CheckQuery = z.output<typeof CheckQuery>

const Moment = Timestamp.meta({ examples: ['2026-11-20T20:50:21.164Z'] })

const CheckedRecord = z.object({
  id: Id,
  site_id: Id,
  accepted: z.boolean(),
  answer: z
    .unknown()
    .describe('What the preferences have for the purpose; null if they do not name it.')
    .meta({ examples: [true] }),
  policy_version: Count.meta({ minimum: 1 }),
  version: Count.meta({ minimum: 1 }).describe('Of the audit entry that is the state.'),
  created_at: Moment,
  stated_at: Moment.describe(
    'When it was created or last updated, or, if `witnessed` is false, its `given_at`. Its history has when the answer for this purpose was given, which may be earlier.',
  ),
})
export type CheckedRecord = z.output<typeof CheckedRecord>

const CheckedNotice = z.object({
  policy_version: Count.meta({ minimum: 1 }),
  languages: z.array(z.string()).meta({ examples: [['de', 'en']] }),
  locale: z
    .string()
    .nullable()
    .describe('Language that was shown, if the record tells it.')
    .meta({ examples: ['de'] }),
  purposes: z
    .array(z.string())
    .describe('Keys that it names; empty if it names none.')
    .meta({ examples: [['marketing']] }),
  controller: z
    .string()
    .nullable()
    .meta({ examples: ['Example Ltd, privacy@example.com'] }),
  valid_for: z
    .string()
    .nullable()
    .meta({ examples: ['P1Y'] }),
  published_at: Moment,
  effective_from: Moment.nullable(),
  entry: Count.meta({ minimum: 1 }).describe('Version of the administrators’ entry of its publication.'),
})
export type CheckedNotice = z.output<typeof CheckedNotice>

const notHeld = 'not held'

export const CheckAnswer = z.object({
  allowed: z
    .boolean()
    .nullable()
    .meta({ examples: [true] })
    .describe('Null if nothing is known: there is no record, or it does not answer for the purpose.'),
  reason: z.string().meta({ enum: [...checkReasons] }),
  subject_id: z.string(),
  purpose: z.string().meta({ examples: ['marketing'] }),
  site_id: Id.nullable().describe('The site that was asked for, else that of the record.'),
  at: Moment.describe('The time that the answer is about.'),
  record: CheckedRecord.nullable().describe('The record that decides.'),
  notice: z
    .union([CheckedNotice, z.literal(notHeld)])
    .nullable()
    .describe('The notice that the service held when it wrote the record; null without a record.'),
  expires_at: Moment.nullable().describe(
    'When the consent expires or expired: the notice’s validity after `stated_at`; null if it does not expire.',
  ),
  renewal: z
    .object({
      policy_version: Count.meta({ minimum: 1 }),
      published_at: Moment,
      effective_from: Moment.nullable(),
    })
    .nullable()
    .describe('The newest notice in effect that requires a renewal of consents to earlier ones; null without one.'),
  origin: optional(RecordOrigin).describe('Where the record was imported from; null if it was made here.'),
  given_at: optional(Moment).describe(
    'Of an imported record: when its last imported answer until then was given, as reported by the importer.',
  ),
  witnessed: optional(z.boolean())
    .meta({ examples: [true] })
    .describe(
      'False if the deciding answer is only reported by the importer: the record was imported, and until then no update here changed its acceptance or its answer for the purpose from what was imported last. Null without a record.',
    ),
  sealed: onRequest(z.boolean()).describe(
    'True if the deciding answer is of a purged record, which left a sealed proof of it; else it is left out.',
  ),
})
export type CheckAnswer = z.output<typeof CheckAnswer>

export const check = endpoint({
  ...accountRead,
  siteKeys: 'filtered',
  roles: readers,
  summary: 'Check if a data subject consents to a purpose',
  path: '/api/v1/subjects/check',
  statesTime: true,
  unit: 'optional',
  query: CheckQuery,
  response: CheckAnswer,
})

export const checkLimit = 1000

/** Subjects per unit of the quota. */
export const checkedPerUnit = 100

/** Near matches that are named for a subject. */
export const nearPerSubject = 10

export const CheckMany = CheckQuery.omit({ subject_id: true }).extend({
  subject_ids: z
    .array(CheckQuery.shape.subject_id, 'must be a list of identifiers')
    .min(1, 'must not be empty')
    .max(checkLimit, `must have at most ${checkLimit} identifiers`)
    .describe('Identifiers of data subjects, compared exactly.'),
  only_witnessed: z.boolean('must be true or false').optional().describe('True ignores imported answers.'),
  near_matches: z
    .boolean('must be true or false')
    .optional()
    .describe('True names the near matches of subjects without a record.'),
})
export type CheckMany = z.output<typeof CheckMany>

const CheckedSubject = CheckAnswer.pick({
  allowed: true,
  reason: true,
  expires_at: true,
  witnessed: true,
  sealed: true,
}).extend({
  record_id: Id.nullable().describe('The record that decides; null without one.'),
  site_id: Id.nullable().describe('The site of that record.'),
  policy_version: Count.meta({ minimum: 1 }).nullable().describe('That of the record.'),
  near_matches: onRequest(z.array(z.string()).max(nearPerSubject)).describe(
    'The first identifiers with live records that differ only in case, blanks at the ends or Unicode form; left out if there is none.',
  ),
})

export const CheckedMany = z.object({
  purpose: z.string().meta({ examples: ['marketing'] }),
  site_id: Id.nullable().describe('The site that was asked for.'),
  at: Moment.describe('The time that the answers are about.'),
  answers: z.array(CheckedSubject).max(checkLimit).describe('In the order of `subject_ids`.'),
})
export type CheckedMany = z.output<typeof CheckedMany>

export const checkMany = endpoint({
  method: 'POST',
  access: 'account',
  scope: 'read',
  query: NoQuery,
  status: 200,
  siteKeys: 'filtered',
  roles: readers,
  summary: `Check if up to ${checkLimit} data subjects consent to a purpose`,
  path: '/api/v1/subjects/check',
  statesTime: true,
  unit: 'optional',
  body: CheckMany,
  response: CheckedMany,
  errors: ['not_found'],
})

export const checkManyDocs: EndpointDocs = {
  description: `Answers as \`GET /api/v1/subjects/check\` would for each of them, all from one statement, so that no change comes in between. An identifier that occurs twice is answered twice. An unknown \`site_id\` is a 404. It takes a unit of the quota for each ${checkedPerUnit} identifiers begun, as far as units are left, and is never rejected for quota. Each identifier is a row of the access log. It is a POST because identifiers belong in no URL.`,
  success: 'An answer for each identifier.',
}

export const checkDocs: EndpointDocs = {
  description:
    'On each site the live record that the subject answered last counts (of more than 1,000 records, the newest 1,000 are compared): an imported one only if its `given_at` is later than the time when the others were last created or updated, and not with `only_witnessed`. One whose acceptance or whose answer for the purpose was changed here since its import counts like the others, from its last update. Without `site_id` the newest of these whose preferences name the purpose decides. The answer is yes if that record is accepted, its preferences have `true` for the purpose, it has not expired, its notice names the purpose (if one is held, and it names any), and no newer notice of the site that is in effect requires a renewal. Everything else is no, or null if nothing is known.\n\nOf several reasons the first of these counts: `withdrawn` (an earlier state of the record consented), `refused`, `purpose_not_answered` (it is accepted, and no state of it until then has `true` or `false` for the purpose), `purpose_not_in_notice`, `expired`, `renewal_required`.\n\nWith `at` the answer is that of then, from the histories: the records that were live, as they were, and the notices that were published and in effect. Of records that were purged since, only sealed proofs are found (a choice of the site): if the answer for the purpose in one of these is newer than that of the record that decides otherwise, it decides, and `sealed` is true. Their notice’s locale and the origin’s id are gone. Imported answers count from their own `given_at`: a state before the `created_at` of the record is as reported by the importer, and `witnessed` is false. A time in the future is rejected. It takes a unit of the quota if one is left, and is never rejected for quota: a refusal must be found also when the month is used up.',
  success: 'The answer, with the record and the notice that decide.',
}
