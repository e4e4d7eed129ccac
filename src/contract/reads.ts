import * as z from 'zod'
import { type EndpointDocs, endpoint } from './endpoint.ts'
import { owners } from './roles.ts'
import { Id, Instant, pageOf, pageQuery, Timestamp, text } from './values.ts'

/** What a read of a person can be; the previews are dry runs of an erasure and of a withdrawal. */
export const readOperations = [
  'list',
  'count',
  'get',
  'history',
  'receipt',
  'evidence',
  'check',
  'near_matches',
  'hmacs',
  'sealed',
  'erasure_preview',
  'withdrawal_preview',
] as const
export type ReadOperation = (typeof readOperations)[number]

export const SubjectRead = z.object({
  id: Id,
  at: Timestamp,
  operation: z.string().meta({ enum: [...readOperations] }),
  actor: z.object({
    kind: z.string().meta({ enum: ['api_key', 'user'] }),
    id: Id,
    name: z.string().nullable().describe('The name of the API key or the e-mail of the user, as it is now.'),
  }),
  subject_hmac: z
    .string()
    .meta({ pattern: '^[\\da-f]{64}$' })
    .describe('HMAC of the identifier: equal to `subject_hmac` of the subject’s erasures.'),
})
export type SubjectRead = z.output<typeof SubjectRead>

export const ReadQuery = z.strictObject({
  subject_id: text(1, 255).optional().describe('Only reads of this data subject.'),
  from: Instant.optional(),
  to: Instant.optional(),
  ...pageQuery,
})
export type ReadQuery = z.output<typeof ReadQuery>

export const SubjectReadPage = pageOf(SubjectRead)
export type SubjectReadPage = z.output<typeof SubjectReadPage>

export const reads = endpoint({
  summary: 'List who read what of which data subject, newest first',
  method: 'GET',
  path: '/api/v1/audit/reads',
  access: 'session',
  roles: owners,
  query: ReadQuery,
  status: 200,
  response: SubjectReadPage,
})

export const readsDocs: EndpointDocs = {
  description:
    'A row for each request that read a record with a `subject_id` by its id (`get`, `history`, `receipt`, `evidence`), or that asked for a data subject (`list` and `count` with `subject_id`, `check`, `near_matches`, `hmacs`, `sealed`, `erasure_preview`, `withdrawal_preview`; one that asks for several is a row for each). Other lists, changes and exports of the database are not reads. Rows are written within a second after the response, hold no identifier, and are removed after 13 months.',
}
