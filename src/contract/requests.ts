import * as z from 'zod'
import { ById, endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { operators, readers } from './roles.ts'
import { Count, Id, optional, pageOf, pageQuery, Timestamp, text } from './values.ts'

const path = '/api/v1/requests'

/** GDPR Art. 15, 17, 16, 21, 7(3) and 18. */
export const requestKinds = ['access', 'erasure', 'rectification', 'objection', 'withdrawal', 'restriction'] as const
export type RequestKind = (typeof requestKinds)[number]

export const requestOutcomes = ['done', 'refused', 'withdrawn'] as const
export type RequestOutcome = (typeof requestOutcomes)[number]

export const requestStates = ['open', 'extended', 'closed'] as const

export const proofTypes = ['erasure_receipt', 'erasure_certificate', 'withdrawal_receipt', 'export_manifest'] as const

const dayForm = 'must be a day, such as 2026-01-31'

/** A day in UTC. */
const GivenDay = z.iso.date(dayForm)

const Day = z.string().meta({ format: 'date', pattern: '^\\d{4}-\\d\\d-\\d\\d$' })

const Ticket = text(1, 100)

const SubjectIds = z
  .array(text(1, 255), 'must be a list')
  .min(1, 'must not be empty')
  .max(20, 'must have at most 20 identifiers')
  .refine(list => new Set(list).size === list.length, 'must not name an identifier twice')
  .meta({ uniqueItems: true })

const Assignee = text(1, 100)
const Kind = z.enum(requestKinds, `must be one of ${requestKinds.join(', ')}`)

const Digest = z.string().meta({ pattern: '^[\\da-f]{64}$' })

/** Days are in UTC. */
export const DataSubjectRequest = z.object({
  id: Id,
  ticket: z.string().describe('Unique in the account.'),
  kind: z.enum(requestKinds),
  state: z.enum(requestStates),
  received_on: Day,
  due_on: Day.describe('The last day to answer it.'),
  subject_ids: z.array(z.string()).nullable().describe('The person’s identifiers; null once it is closed.'),
  subject_hmacs: z
    .array(Digest)
    .describe('HMACs of the identifiers: equal to `subject_hmac` of the subject’s erasures.'),
  assignee: z.string().nullable(),
  extension_reason: z.string().nullable(),
  extended_at: Timestamp.nullable(),
  outcome: z.enum(requestOutcomes).nullable().describe('Null until it is closed.'),
  outcome_reason: z.string().nullable(),
  closed_at: Timestamp.nullable(),
  purge_due_on: Day.nullable().describe(
    'Of an erasure that is done: the day on which the purge of its records was due when it was closed. Null without such records, and if the service purges by hand only or still had live ones.',
  ),
  purged_on: Day.nullable().describe('The day on which none of its records was left, or was reported as purged.'),
  held_until: optional(Timestamp).describe(
    'When the last legal hold on the person that stands now ends: no purge takes its records before. Null without any.',
  ),
  sealed_proofs: Count.default(0).describe(
    'Number of sealed proofs of purged records with its identifiers that the service keeps now.',
  ),
  sealed_until: optional(Timestamp).describe(
    'When the last of them ends, unless a legal hold keeps it; null without any.',
  ),
  receipts: z
    .array(z.object({ type: z.string().meta({ enum: [...proofTypes] }), sha256: Digest, added_at: Timestamp }))
    .describe('The digests of the documents that prove the answer.'),
  version: Count.meta({ minimum: 1 }),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type DataSubjectRequest = z.output<typeof DataSubjectRequest>

const State = z.record(z.string(), z.unknown()).meta({ examples: [{ due_on: '2026-12-21', state: 'open' }] })

export const RequestEntry = z.object({
  version: Count.meta({ minimum: 1 }),
  action: z.string().meta({ enum: ['created', 'updated', 'extended', 'closed'] }),
  changed_by: z.string().meta({ enum: ['api_key', 'user'] }),
  actor_id: Id.describe('The id of that key or user.'),
  created_at: Timestamp,
  before: State.nullable().describe('The changed fields before; null for the first entry.'),
  after: State.describe(
    'The changed fields after. Of ticket, identifiers, assignee and reasons there is a SHA-256, `details_sha256`.',
  ),
})
export type RequestEntry = z.output<typeof RequestEntry>

export const RequestWithHistory = DataSubjectRequest.extend({
  history: z.array(RequestEntry).describe('Oldest first.'),
})
export type RequestWithHistory = z.output<typeof RequestWithHistory>

export const RequestDraft = z.strictObject({
  ticket: Ticket,
  kind: Kind,
  subject_ids: SubjectIds.describe('Every identifier of the person, exactly as stored.'),
  received_on: GivenDay.describe('Not in the future.'),
  assignee: Assignee.optional(),
})
export type RequestDraft = z.output<typeof RequestDraft>

export const RequestChange = z.strictObject({
  kind: Kind.optional(),
  subject_ids: SubjectIds.optional(),
  received_on: GivenDay.optional(),
  assignee: Assignee.nullable().optional(),
  extension_reason: text(1, 500).optional().describe('Extends the period by two months, once.'),
  outcome: z
    .enum(requestOutcomes, `must be one of ${requestOutcomes.join(', ')}`)
    .optional()
    .describe('Closes the request; `refused` needs a reason.'),
  outcome_reason: text(1, 500).optional(),
  purged: z
    .literal(true, 'must be true')
    .optional()
    .describe('The personal data of the records was purged; allowed for a closed erasure too.'),
  receipt: z
    .strictObject({
      type: z.enum(proofTypes, `must be one of ${proofTypes.join(', ')}`),
      sha256: z
        .string()
        .regex(/^[\da-f]{64}$/, 'must be a SHA-256 in lower-case hexadecimal')
        .meta({ examples: ['6bc98591504769a764dff47a8b4bf3eca1461b32863a1e98108806b219defb10'] }),
    })
    .optional()
    .describe('Added to the receipts unless its digest is there.'),
})
export type RequestChange = z.output<typeof RequestChange>

export const RequestQuery = z.strictObject({
  state: z
    .enum(['open', 'closed'], 'must be one of open, closed')
    .optional()
    .describe('`open` includes extended requests.'),
  ticket: Ticket.optional(),
  subject_id: text(1, 255).optional().describe('An identifier of the person, also of closed requests.'),
  received_from: GivenDay.optional(),
  received_to: GivenDay.optional(),
  ...pageQuery,
})
export type RequestQuery = z.output<typeof RequestQuery>

export const RequestPage = pageOf(DataSubjectRequest)
export type RequestPage = z.output<typeof RequestPage>

const register = {
  access: 'account',
  scope: 'erase',
  siteKeys: 'rejected',
  unit: 'optional',
  query: NoQuery,
  status: 200,
} as const

export const requests = {
  create: endpoint({
    ...register,
    roles: operators,
    summary: 'Enter a data subject’s request into the register',
    method: 'POST',
    path,
    body: RequestDraft,
    status: 201,
    response: DataSubjectRequest,
    errors: ['conflict'],
  }),
  list: endpoint({
    ...register,
    roles: readers,
    summary: 'List the requests of the register, newest entry first',
    method: 'GET',
    path,
    query: RequestQuery,
    response: RequestPage,
  }),
  get: endpoint({
    ...register,
    roles: readers,
    summary: 'Get a request with its audit entries',
    method: 'GET',
    path: `${path}/:id`,
    params: ById,
    response: RequestWithHistory,
  }),
  update: endpoint({
    ...register,
    roles: operators,
    summary: 'Correct, assign, extend or close a request, or add a receipt to it',
    method: 'PATCH',
    path: `${path}/:id`,
    params: ById,
    body: RequestChange,
    response: DataSubjectRequest,
    errors: ['conflict'],
  }),
}

export const requestsDocs: ResourceDocs<typeof requests> = {
  description: 'The register of data subjects’ requests. It is never rejected for quota.',
  endpoints: {
    create: {
      description:
        'A request is due one month after it was received (GDPR Art. 12(3)), by Regulation 1182/71 on the next working day if that is a Saturday, a Sunday or one of the `HOLIDAYS` that the operator set: none by default. The same draft again gets the request that it made; another one with its ticket is a conflict.',
    },
    list: {
      description:
        'An identifier is compared by its HMAC, which a closed request keeps: a person’s closed requests are found too.',
    },
    update: {
      description:
        'A change that is already made does nothing, so it can be sent again. An extension after the last day to answer, a second one, and a change of a closed request are conflicts, except for a receipt and `purged`, which can be added later. Closing removes the identifiers; of an erasure that is done it first finds when the purge of the person’s records is due. An erasure cannot be closed as done while a legal hold keeps records of the person (409, `held`).',
    },
  },
}
