import * as z from 'zod'
import { ById, endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { operators, readers } from './roles.ts'
import { Id, Instant, Timestamp, text } from './values.ts'

const path = '/api/v1/holds'

export const Hold = z.object({
  id: Id,
  subject_hmac: z
    .string()
    .meta({ pattern: '^[\\da-f]{64}$' })
    .describe('HMAC of the subject, as in the certificates of its erasures: the identifier is not stored.'),
  reason: z.string(),
  ticket: z.string().nullable(),
  held_until: Timestamp.describe('When it ends.'),
  created_at: Timestamp,
})
export type Hold = z.output<typeof Hold>

/** As erasures and their certificates state it. */
export const HoldNotice = z.strictObject({
  until: Timestamp.describe('When the hold ends.'),
  reason: z.string().describe('As it was given.'),
  ticket: z.string().nullable().describe('As it was given.'),
})
export type HoldNotice = z.output<typeof HoldNotice>

export const HoldDraft = z.strictObject({
  subject_id: text(1, 255).describe('Identifier of the data subject, compared exactly.'),
  reason: text(1, 500).describe('Such as the claim. It stays in the administrators’ log: it should name nobody.'),
  ticket: text(1, 100).optional(),
  held_until: Instant.describe('When the hold ends by itself; in the future.'),
})
export type HoldDraft = z.output<typeof HoldDraft>

const erases = { access: 'account', scope: 'erase', siteKeys: 'rejected', unit: 'optional', query: NoQuery } as const

export const holds = {
  list: endpoint({
    ...erases,
    roles: readers,
    summary: 'List the legal holds that stand, newest first',
    method: 'GET',
    path,
    status: 200,
    response: z.object({ data: z.array(Hold) }),
  }),
  add: endpoint({
    ...erases,
    roles: operators,
    summary: 'Add a legal hold on the records of a subject',
    method: 'POST',
    path,
    body: HoldDraft,
    status: 201,
    response: Hold,
  }),
  remove: endpoint({
    ...erases,
    roles: operators,
    summary: 'Remove a legal hold before its end',
    method: 'DELETE',
    path: `${path}/:id`,
    params: ById,
    status: 200,
    response: Hold,
  }),
}

export const holdsDocs: ResourceDocs<typeof holds> = {
  description:
    'Legal holds (GDPR Art. 17(3)(e)). While one stands, no retention deletes a record of the subject, no purge takes one, and an erasure of the subject deletes nothing, and its response and certificate tell of the hold. A purge at once of its records is a 409 with the reason `held`. A deletion of a single record is possible, and is not purged.',
  endpoints: {
    list: { description: 'Those that have ended are not in it. It is never rejected for quota.' },
    add: {
      description:
        'An entry of the administrators’ log tells who added it. Of several holds on a subject each must end. It is never rejected for quota.',
    },
    remove: {
      description: 'Its entries stay in the administrators’ log. It is never rejected for quota.',
    },
  },
}
