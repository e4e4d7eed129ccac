import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { Preferences } from './preferences.ts'
import { Instant, PolicyVersion, parseInstant, QueryBoolean, queryInteger, text, Uuid } from './values.ts'

const path = '/api/v1/consents'

/** `field`, or `null` where an instance has no value for it or leaves it out. */
function optional<T extends z.ZodType>(field: T) {
  return field.nullable().default(null)
}

/**
 * A consent record (service specification section 2.1). What is required here is what every instance promises;
 * ids and timestamps are any text, for another instance may write them in its own way.
 */
export const Consent = z.object({
  id: z.string(),
  site_id: optional(z.string()),
  consent_id: optional(z.string()),
  subject_id: optional(z.string()),
  country: optional(z.string()),
  region: optional(z.string()),
  user_agent: optional(z.string()),
  accepted: z.boolean(),
  preferences: optional(z.record(z.string(), z.unknown())),
  policy_version: optional(z.number()),
  created_at: z.string(),
  updated_at: optional(z.string()),
  deleted_at: optional(z.string()),
})
export type Consent = z.output<typeof Consent>

/** The body of a create (section 4.1): only `site_id` is required; what is not listed is refused. */
export const ConsentDraft = z.strictObject({
  site_id: Uuid,
  consent_id: text(1, 255).optional(),
  subject_id: text(1, 255).optional(),
  accepted: z.boolean('must be true or false').optional(),
  preferences: Preferences.optional(),
  policy_version: PolicyVersion.optional(),
  ip_address: z.union([z.ipv4(), z.ipv6()], 'must be an IPv4 or IPv6 address').optional(),
  user_agent: text(0, 1024).optional(),
})
export type ConsentDraft = z.output<typeof ConsentDraft>

/** The body of an update (section 4.4). */
export const ConsentChange = z.strictObject({
  accepted: z.boolean('must be true or false').optional(),
  preferences: Preferences.optional(),
})
export type ConsentChange = z.output<typeof ConsentChange>

/** The query of a list (section 4.2); `from` and `to` are inclusive bounds on `created_at`. */
export const ConsentQuery = z
  .strictObject({
    site_id: Uuid.optional(),
    subject_id: text(1, 255).optional(),
    consent_id: text(1, 255).optional(),
    accepted: QueryBoolean.optional(),
    from: Instant.optional(),
    to: Instant.optional(),
    include_deleted: QueryBoolean.optional(),
    cursor: z.string().min(1, 'must not be empty').optional(),
    limit: queryInteger(1, 100).optional(),
  })
  .refine(({ from, to }) => !from || !to || (parseInstant(from) ?? 0) <= (parseInstant(to) ?? 0), {
    error: 'must not be after to',
    path: ['from'],
  })
export type ConsentQuery = z.output<typeof ConsentQuery>

/** A page of a list; `next_cursor` is null on the last one. */
export const ConsentPage = z.object({
  data: z.array(Consent),
  limit: z.int().optional().catch(undefined),
  next_cursor: optional(z.string()),
})
export type ConsentPage = z.output<typeof ConsentPage>

/** One entry of the audit trail (section 2.2): the state after the event. `action` is this service's addition. */
export const AuditEntry = z.object({
  id: z.string(),
  consent_id: z.string(),
  action: optional(z.string()),
  accepted: optional(z.boolean()),
  preferences: optional(z.record(z.string(), z.unknown())),
  policy_version: optional(z.number()),
  changed_by: optional(z.string()),
  actor_id: optional(z.string()),
  created_at: z.string(),
})
export type AuditEntry = z.output<typeof AuditEntry>

export const History = z.object({ data: z.array(AuditEntry) })

/** The id in a path: a text that is no UUID names no record, so the server answers it with `not_found`. */
const ById = z.object({ id: z.string() })
const GetQuery = z.strictObject({ include_deleted: QueryBoolean.optional() })
const NoQuery = z.strictObject({})

/** The six routes of the specification's section 4. What an instance answers to a removal is its own affair. */
export const consents = {
  create: endpoint({
    method: 'POST',
    path,
    query: NoQuery,
    body: ConsentDraft,
    status: 201,
    response: Consent,
  }),
  list: endpoint({ method: 'GET', path, query: ConsentQuery, status: 200, response: ConsentPage }),
  get: endpoint({
    method: 'GET',
    path: `${path}/:id`,
    params: ById,
    query: GetQuery,
    status: 200,
    response: Consent,
  }),
  update: endpoint({
    method: 'PUT',
    path: `${path}/:id`,
    params: ById,
    query: NoQuery,
    body: ConsentChange,
    status: 200,
    response: Consent,
  }),
  remove: endpoint({
    method: 'DELETE',
    path: `${path}/:id`,
    params: ById,
    query: NoQuery,
    status: 200,
    response: Consent.nullable().catch(null),
  }),
  history: endpoint({
    method: 'GET',
    path: `${path}/:id/history`,
    params: ById,
    query: NoQuery,
    status: 200,
    response: History,
  }),
}
