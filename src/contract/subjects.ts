import * as z from 'zod'
import { endpoint, NoQuery } from './endpoint.ts'
import { ExactCount, Id, text } from './values.ts'

export const SubjectErasure = z.strictObject({
  subject_id: text(1, 255).describe('Whose records go: of exactly this text.'),
  reason: text(1, 500).optional().describe('Repeated in the certificate.'),
  ticket: text(1, 100).optional().describe('Repeated in the certificate.'),
  dry_run: z.boolean('must be true or false').optional().describe('Only count; false unless said.'),
})
export type SubjectErasure = z.output<typeof SubjectErasure>

export const SubjectErased = z.object({
  erased: ExactCount.describe('Records that this call has deleted; in a dry run, that it would.'),
  remaining: ExactCount.describe('Live records of the subject that are left.'),
  complete: z.boolean().describe('Whether none is left; where one is, call again.'),
  dry_run: z.boolean(),
  sites: z
    .array(z.object({ site_id: Id, records: ExactCount.meta({ minimum: 1 }) }))
    .describe('What erased counts, by site.'),
  certificate: z
    .string()
    .nullable()
    .meta({ examples: ['{\n  "type": "erasure_certificate",\n  "version": 1,\n  …'] })
    .describe('The text of a signed document of the type erasure_certificate; null in a dry run.'),
})
export type SubjectErased = z.output<typeof SubjectErased>

/** What an account holds on one person. */
export const subjects = {
  erase: endpoint({
    summary: 'Delete all records of a subject, over all sites of the account; their history stays',
    method: 'POST',
    path: '/api/v1/subjects/erase',
    access: 'account',
    scope: 'erase',
    neverRefused: true,
    query: NoQuery,
    body: SubjectErasure,
    status: 200,
    response: SubjectErased,
  }),
}
