import * as z from 'zod'
import { Circumstances, ReportedCircumstances } from './circumstances.ts'
import { consentRoutes } from './consent-routes.ts'
import { ById, endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { type FilterKind, type FilterName, filters, type KindOf } from './filters.ts'
import { parseInstant } from './instant.ts'
import { Preferences } from './json.ts'
import { LanguageTag } from './languages.ts'
import {
  Count,
  Id,
  Instant,
  onRequest,
  optional,
  PolicyVersion,
  pageQuery,
  QueryBoolean,
  Timestamp,
  text,
  Uuid,
} from './values.ts'

function given<T extends z.ZodType>(field: T) {
  return optional(field).meta({ nullable: false })
}

export const RecordOrigin = z.object({
  system: z.string(),
  id: z.string().nullable(),
  evidence: z.string().nullable(),
})

/** Service specification section 2.1; every instance must return the required fields. */
export const Consent = z.object({
  id: Id.describe('A UUIDv7; its time is created_at.'),
  site_id: given(Id),
  consent_id: optional(z.string()).describe('The caller’s label for the record; not unique.'),
  subject_id: optional(z.string()).describe('Identifier of the data subject, exactly as sent.'),
  country: optional(z.string().meta({ pattern: '^[A-Z]{2}$' })).describe('ISO 3166-1, by the address.'),
  region: optional(z.string()).describe('The part of the ISO 3166-2 code after the dash.'),
  user_agent: optional(z.string()),
  accepted: z.boolean(),
  preferences: given(z.record(z.string(), z.unknown())),
  policy_version: given(Count.meta({ minimum: 1 })),
  created_at: Timestamp,
  updated_at: given(Timestamp),
  deleted_at: z
    .preprocess(value => (value === '' ? null : value), optional(Timestamp)) // some instances write '' for null
    .describe('Null unless it is deleted.'),
  notice_locale: onRequest(z.string()).describe(
    'The language of the notice that was shown, as reported by the sender; absent if not reported.',
  ),
  expires_at: onRequest(Timestamp).describe(
    'When the consent ends by the validity of its notice; only in a list with `expiry`.',
  ),
  given_at: onRequest(Timestamp).describe(
    'Of an imported record: when the person last answered, as reported by the importer.',
  ),
  origin: onRequest(RecordOrigin).describe('Only of an imported record; its id and evidence are null after a purge.'),
  gpc: onRequest(z.boolean()).describe('True if the last answer came with `Sec-GPC: 1`, else left out.'),
})
export type Consent = z.output<typeof Consent>

/** Service specification section 4.1. */
export const ConsentDraft = z.strictObject({
  site_id: Uuid,
  consent_id: text(1, 255).optional().describe('A label of your own; not unique.'),
  subject_id: text(1, 255).optional().describe('Identifier of the data subject; stored exactly as sent.'),
  accepted: z.boolean('must be true or false').optional().describe('Default: false.'),
  preferences: Preferences.optional().describe('Default: {}.'),
  policy_version: PolicyVersion.optional().describe("Default: the site's current one."),
  ip_address: z
    .union([z.ipv4(), z.ipv6()], 'must be an IPv4 or IPv6 address')
    .optional()
    .describe('For the country; stored truncated, and returned in that form by the history with `details` alone.'),
  user_agent: text(0, 1024).optional(),
  notice_locale: LanguageTag.optional().describe(
    'The language (BCP 47) of the notice that was shown, one of those that were published if any was.',
  ),
  circumstances: Circumstances.optional(),
})
export type ConsentDraft = z.output<typeof ConsentDraft>

/** Service specification section 4.4. */
export const ConsentChange = z.strictObject({
  accepted: z.boolean('must be true or false').optional(),
  preferences: Preferences.optional(),
  circumstances: Circumstances.optional(),
})
export type ConsentChange = z.output<typeof ConsentChange>

interface Range {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export function isRange({ from, to }: Range): boolean {
  return !from || !to || (parseInstant(from) ?? 0) <= (parseInstant(to) ?? 0)
}

/** Repeats the pattern of `parseValidity`: evaluating the notices' schemas would slow the start of every command. */
const Expiry = z
  .string()
  .regex(
    /^(expired|P(\d{1,4}W|\d{1,3}Y(\d{1,4}M)?(\d{1,5}D)?|\d{1,4}M(\d{1,5}D)?|\d{1,5}D))$/,
    'must be expired, or an ISO 8601 duration such as P30D',
  )
  .meta({ examples: ['P30D'] })

const filterSchemas = {
  site: Uuid,
  text: text(1, 255),
  boolean: QueryBoolean,
  from: Instant,
  to: Instant,
} as const satisfies Record<FilterKind, z.ZodType>

const filterShape = Object.fromEntries(
  filters.map(({ name, kind, description }) => {
    const schema = filterSchemas[kind].optional()
    return [name, description === undefined ? schema : schema.describe(description)]
  }),
) as { [Name in FilterName]: z.ZodOptional<(typeof filterSchemas)[KindOf<Name>]> }

/** Service specification section 4.2. */
export const ConsentQuery = z
  .strictObject({
    ...filterShape,
    include_deleted: QueryBoolean.optional().describe('Include deleted records.'),
    expiry: Expiry.optional().describe(
      'Accepted records that expire within this time from now, or with `expired` those that have expired; soonest first. Only `site_id` can be combined with it.',
    ),
    ...pageQuery,
  })
  .refine(isRange, { error: 'must not be after to', path: ['from'] })
export type ConsentQuery = z.output<typeof ConsentQuery>

export const ConsentPage = z.object({
  data: z.array(Consent),
  limit: z.int().meta({ minimum: 1, maximum: 100 }).optional().catch(undefined),
  next_cursor: optional(z.string()).describe('Null on the last page.'),
})
export type ConsentPage = z.output<typeof ConsentPage>

function hex(bytes: number) {
  return z.string().meta({ pattern: `^[\\da-f]{${2 * bytes}}$` })
}

/**
 * The state after the event (service specification section 2.2). `action` and the fields after `created_at` are
 * additions that make the hash chain verifiable from the response.
 */
export const AuditEntry = z.object({
  id: Id,
  consent_id: Id.describe('The id of the record.'),
  action: given(
    z.string().meta({
      enum: ['created', 'imported', 'updated', 'deleted', 'purged', 'restored', 'restored_despite_erasure'],
    }),
  ),
  accepted: given(z.boolean()),
  preferences: given(z.record(z.string(), z.unknown())),
  policy_version: given(Count.meta({ minimum: 1 })),
  changed_by: given(z.string().meta({ enum: ['api_key', 'user', 'site_token', 'system'] })),
  actor_id: optional(Id).describe('The id of that key, user or site; null for the system.'),
  created_at: Timestamp,
  version: given(Count.meta({ minimum: 1 })).describe('1 for the first entry, one more for each later one.'),
  salt: optional(hex(16)).describe('Hashed with the payload; null once it is purged.'),
  record_hash: optional(hex(32)).describe(
    'The hash of the fields that no update changes: in the first entry, or once they are purged in the last one.',
  ),
  payload_hash: given(hex(32)).describe("The hash of the state's personal part (of all of it in old entries)."),
  hash: given(hex(32)).describe('The hash of the entry and of the previous hash.'),
  given_at: onRequest(Timestamp).describe(
    'When the person answered, as reported by the importer; only of imported entries.',
  ),
  file_sha256: onRequest(hex(32)).describe('The SHA-256 of the file that the entry is from; only of imported entries.'),
  gpc: onRequest(z.boolean()).describe('True if the answer came with `Sec-GPC: 1`; else it is left out.'),
  circumstances: onRequest(ReportedCircumstances).describe(
    'How the answer was given, as reported by the sender; left out if it was not. A purge removes its `relation`, `reference` and `note`.',
  ),
  erased: onRequest(z.boolean()).describe(
    'True of a deletion by an erasure request, which may be that of a record deleted before; else it is left out.',
  ),
  sealed: onRequest(
    z.object({
      basis: z.string().describe('Why it is kept, as the site says.'),
      until: Timestamp,
      proof_hash: hex(32).describe('The hash of what only a caller gets who presents the identifier.'),
      subject_hmac: onRequest(hex(32)),
      answers: onRequest(
        z.array(z.object({ version: Count.meta({ minimum: 1 }), preferences: z.record(z.string(), z.boolean()) })),
      ),
    }),
  ).describe('Of a purge that left a sealed proof. Its `subject_hmac` and `answers` are only in an evidence pack.'),
})
export type AuditEntry = z.output<typeof AuditEntry>

export const History = z.object({
  data: z.array(
    AuditEntry.extend({
      actor_name: onRequest(z.string().nullable()).describe(
        'With `details`: the name of that key or site, or the e-mail of that user; null for the system.',
      ),
    }),
  ),
  ip_network: onRequest(z.string().nullable()).describe(
    'With `details`: the address as it is stored, truncated unless configured otherwise; null if it is not.',
  ),
  notice_entry: z
    .int()
    .nullable()
    .optional()
    .meta({ onRequest: true, minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
    .describe(
      'With `details`: the version of the entry of the account that published its notice; null if none was held when it was written.',
    ),
})
export type History = z.output<typeof History>

const HistoryQuery = z.strictObject({
  details: QueryBoolean.optional().describe('Also return the IP address, and who made each change.'),
})

const GetQuery = z.strictObject({ include_deleted: QueryBoolean.optional() })

export const consents = {
  create: endpoint({ ...consentRoutes.create, query: NoQuery, body: ConsentDraft, response: Consent }),
  list: endpoint({ ...consentRoutes.list, query: ConsentQuery, response: ConsentPage }),
  get: endpoint({ ...consentRoutes.get, params: ById, query: GetQuery, response: Consent }),
  update: endpoint({ ...consentRoutes.update, params: ById, query: NoQuery, body: ConsentChange, response: Consent }),
  remove: endpoint({ ...consentRoutes.remove, params: ById, query: NoQuery, response: Consent.nullable().catch(null) }),
  history: endpoint({ ...consentRoutes.history, params: ById, query: HistoryQuery, response: History }),
}

export const consentsDocs: ResourceDocs<typeof consents> = {
  description: 'Consent records and their audit trail.',
  endpoints: {
    create: {
      description:
        'Silence is not consent: `accepted` is false unless given. Preferences are at most 16 KiB of JSON, 8 levels deep, with 256 keys in all.',
      success: 'The record.',
      requestHeaders: {
        'Idempotency-Key': {
          description:
            'Printable ASCII, kept for 24 hours for the account. The same body again gets the first response again; another body gets 409, and so does the same body once its record was deleted and purged.',
          schema: { type: 'string', pattern: '^[ -~]{1,255}$' },
          example: '0b0c7a52-61f4-4bb1-a1f9-0b6a6b1a2c4e',
        },
      },
      responseHeaders: {
        'Idempotent-Replayed': {
          description:
            'The Idempotency-Key was used before: this is the first response again, and nothing was created.',
          schema: { type: 'string', const: 'true' },
          example: 'true',
        },
      },
    },
    list: {
      description:
        'Filters narrow the list; one that names a site of another account finds nothing. A cursor goes with the filters it was made with; `limit` may change between pages.\n\nWith `Accept: application/x-ndjson` the page and all that follow it are one response, a page a line. Each of them is treated like a request of its own: it takes a unit of the quota when it is read, and the credential must still be valid. **The list is complete only if `next_cursor` of the last line is null.** If the connection closes before that, continue with a request for the last `next_cursor`; its response says why, if there is something to do about it (the quota is used up, the key is revoked). The service ends a stream early when it stops, after a whole line, and when its reader takes nothing for a minute.',
      success:
        'A page; `next_cursor` is null on the last one, and never leads to an empty one. As a stream, a page a line.',
    },
    get: { success: 'The record. A deleted one is a 404 unless `include_deleted` is true.' },
    update: {
      description:
        'Preferences are replaced as a whole. A change to what is stored already is not an event: nothing is written. With `circumstances` it is one, such as a later confirmation, unless they are those of the last event.',
      success: 'The record.',
    },
    remove: {
      description: 'Lists and reads then omit it without `include_deleted`. A body is ignored.',
      success: 'The deleted record.',
      example: { updated_at: '2026-11-20T20:50:27.128Z', deleted_at: '2026-11-20T20:50:27.128Z' },
    },
    history: {
      description:
        'The entries are a hash chain (SHA-256, JSON as in RFC 8785): `payload_hash` covers the salt, the preferences and the personal part of `circumstances` (`relation`, `reference`, `note`); `hash` covers the previous hash, the record, the version, the action, the actor, the time, the acceptance, the policy version, the facts reported by the sender (`given_at`, `file_sha256`, `gpc`, `erased`, the rest of `circumstances`) and `payload_hash`, so that all but the personal part can be verified after a purge.',
      success: 'Every event, each with the state after it. A deleted record has a history too.',
    },
  },
}
