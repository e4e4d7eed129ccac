import * as z from 'zod'
import { accountRead, type EndpointDocs, endpoint } from './endpoint.ts'
import { readers } from './roles.ts'
import { Count, Id, pageOf, pageQuery, queryInteger, Timestamp } from './values.ts'

/** Number of live accepted records that one page examines. */
export const examinedRecordsLimit = 500

export const NoticeSubject = z.object({
  id: Id.describe('The record by which the person agreed.'),
  subject_id: z.string(),
  site_id: Id,
  policy_version: Count.meta({ minimum: 1 }),
  notice_held: z.boolean().describe('False if the service did not hold the notice when it wrote the record.'),
  notice_locale: z
    .string()
    .nullable()
    .describe('Language that was shown, if the record tells it.')
    .meta({ examples: ['de'] }),
  created_at: Timestamp,
  updated_at: Timestamp,
  expires_at: Timestamp.nullable().describe('When the consent expires; null if it does not.'),
  given_at: Timestamp.nullable()
    .optional()
    .describe('Of an imported record: when the person last answered, as reported by the importer; else null.'),
})
export type NoticeSubject = z.output<typeof NoticeSubject>

export const NoticeSubjectQuery = z.strictObject({
  ...pageQuery,
})
export type NoticeSubjectQuery = z.output<typeof NoticeSubjectQuery>

export const NoticeSubjectPage = pageOf(
  NoticeSubject,
  'Null on the last page. A page before it can be short, even empty.',
)
export type NoticeSubjectPage = z.output<typeof NoticeSubjectPage>

export const noticeSubjects = endpoint({
  ...accountRead,
  siteKeys: 'filtered',
  roles: readers,
  summary: 'List the people who agreed to a policy version and no newer one, newest record first',
  path: '/api/v1/sites/:id/notices/:version/subjects',
  params: z.object({ id: z.string().meta({ format: 'uuid' }), version: queryInteger(1, 2_147_483_647) }),
  query: NoticeSubjectQuery,
  response: NoticeSubjectPage,
})

export const noticeSubjectsDocs: EndpointDocs = {
  description: `Each person whose newest answer on the site is accepted and of this version, once, by its live record: whom to ask again. An imported answer is the newest only if it was given later than the newest record made or changed here was last created or updated. Who has stated anything newer on the site is not in it, a refusal included, and neither are records without a \`subject_id\`. The version needs no notice. A page examines ${examinedRecordsLimit} live accepted records of the site, so it can be short, or empty, and have a \`next_cursor\`: only where that is null the list ends.`,
  success: 'A page.',
}
