import * as z from 'zod'
import { ById, endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { EventType } from './events.ts'
import { owners, readers } from './roles.ts'
import { Count, Id, Instant, Timestamp, text, Uuid } from './values.ts'

const path = '/api/v1/webhooks'

/** Of Standard Webhooks: HMAC-SHA-256 with a shared secret, or Ed25519. */
export const signatureSchemes = ['v1', 'v1a'] as const
export type SignatureScheme = (typeof signatureSchemes)[number]

export const webhookStates = ['active', 'failing', 'paused'] as const

export const WebhookAttempt = z.object({
  at: Timestamp,
  position: Count.nullable().describe('Of the event; null of a test.'),
  status: Count.nullable().describe('HTTP status of the answer; null if there was none.'),
  ms: Count.describe('Until the answer, in milliseconds.'),
  problem: z
    .string()
    .nullable()
    .meta({ examples: ['answered 500'] })
    .describe('Null if it was delivered: the answer was 2xx.'),
})
export type WebhookAttempt = z.output<typeof WebhookAttempt>

export const Webhook = z.object({
  id: Id,
  url: z
    .string()
    .meta({ examples: ['https://crm.example.com/consents'] })
    .describe('Without a user, password and query, which may be secret.'),
  types: z.array(z.string()).nullable().describe('The types of events that it gets; null for all.'),
  site_ids: z
    .array(Id)
    .nullable()
    .describe('The sites whose events it gets; null for all, with those of the administrators’ log.'),
  signature: z.string().meta({ enum: [...signatureSchemes] }),
  public_key: z
    .string()
    .nullable()
    .meta({ pattern: '^whpk_' })
    .describe('Verifies signatures of the scheme `v1a`; null for `v1`.'),
  state: z
    .string()
    .meta({ enum: [...webhookStates] })
    .describe(
      '`failing`: an event could not be delivered for ten minutes, and is tried again. `paused`: nothing is sent until `paused` is set to false; an answer 410 pauses it, too.',
    ),
  failing_since: Timestamp.nullable().describe(
    'First failed attempt of the event that was undelivered for ten minutes.',
  ),
  position: Count.nullable().describe(
    'Every event up to it was delivered, is not wanted, or is of one of the `undelivered` records. Null before the first.',
  ),
  undelivered: Count.describe(
    'Records with an event up to `position` that was not delivered: an attempt failed, or it waits for an earlier one of the record. The administrators’ log counts as one. At 100 no event of another record is sent.',
  ),
  next_attempt_at: Timestamp.nullable().describe('Of the undelivered; null if there are none, or it is paused.'),
  previous_secret_until: Timestamp.nullable().describe(
    'Until then deliveries are signed with the previous secret, too.',
  ),
  created_at: Timestamp,
})
export type Webhook = z.output<typeof Webhook>

export const WebhookDetails = Webhook.extend({
  attempts: z.array(WebhookAttempt).describe('The last 100, newest first.'),
})
export type WebhookDetails = z.output<typeof WebhookDetails>

export const NewWebhook = Webhook.extend({
  secret: z
    .string()
    .nullable()
    .meta({ pattern: '^whsec_' })
    .describe('Shown only here. Null for `v1a`, whose `public_key` is enough.'),
})
export type NewWebhook = z.output<typeof NewWebhook>

function listOf<T extends z.ZodType>(item: T, what: string) {
  return z
    .array(item, 'must be a list')
    .min(1, 'must not be empty')
    .max(50, `must have at most 50 ${what}s`)
    .refine(list => new Set(list).size === list.length, `must not name a ${what} twice`)
    .meta({ uniqueItems: true })
    .nullable()
    .optional()
}

const settings = {
  types: listOf(EventType, 'type').describe('Default: null, for every event.'),
  site_ids: listOf(Uuid, 'site').describe('Default: null, for every site and the administrators’ log.'),
}

const Url = text(1, 2000).meta({ format: 'uri', examples: ['https://crm.example.com/consents'] })

export const WebhookDraft = z.strictObject({
  url: Url.describe('It must be https, unless the service allows the host by name (`WEBHOOK_ALLOW`).'),
  ...settings,
  signature: z
    .enum(signatureSchemes, 'must be v1 or v1a')
    .optional()
    .meta({ default: 'v1' })
    .describe('`v1a` signs with Ed25519, so that the receiver keeps no secret.'),
})
export type WebhookDraft = z.output<typeof WebhookDraft>

export const WebhookChange = z.strictObject({
  url: Url.optional(),
  ...settings,
  paused: z.boolean().optional().describe('False continues where it stopped, and tries the undelivered at once.'),
})
export type WebhookChange = z.output<typeof WebhookChange>

export const maxSecretOverlapHours = 7 * 24

export const SecretRotation = z.strictObject({
  overlap_hours: z
    .int('must be an integer')
    .min(0, `must be from 0 to ${maxSecretOverlapHours}`)
    .max(maxSecretOverlapHours, `must be from 0 to ${maxSecretOverlapHours}`)
    .optional()
    .meta({ default: 24 })
    .describe('How long deliveries are signed with the previous secret, too.'),
})
export type SecretRotation = z.output<typeof SecretRotation>

export const WebhookRewind = z.strictObject({
  after: z
    .int('must be an integer')
    .min(0, 'must be a position, from 0')
    .max(9_999_999_998, 'must be a position')
    .nullable()
    .optional()
    .describe('Position behind which it continues; null for the first event.'),
  from: Instant.optional().describe(
    'Continues with the first event that may be of this time or later, instead of behind a position.',
  ),
})
export type WebhookRewind = z.output<typeof WebhookRewind>

const reads = {
  method: 'GET',
  access: 'account',
  scope: 'webhooks',
  siteKeys: 'rejected',
  roles: readers,
  unit: 'optional',
  query: NoQuery,
  status: 200,
} as const
const changes = { ...reads, roles: owners, method: 'POST' } as const

export const webhooks = {
  list: endpoint({
    ...reads,
    summary: 'List the webhooks of the account, newest first',
    path,
    response: z.object({ data: z.array(Webhook) }),
  }),
  get: endpoint({
    ...reads,
    summary: 'Get a webhook and its last 100 attempts',
    path: `${path}/:id`,
    params: ById,
    response: WebhookDetails,
  }),
  create: endpoint({
    ...changes,
    summary: 'Create a webhook; only this response has its secret',
    path,
    body: WebhookDraft,
    status: 201,
    response: NewWebhook,
    errors: ['not_found', 'conflict'],
  }),
  update: endpoint({
    ...changes,
    method: 'PATCH',
    summary: 'Change, pause or continue a webhook',
    path: `${path}/:id`,
    params: ById,
    body: WebhookChange,
    response: Webhook,
  }),
  remove: endpoint({
    ...changes,
    method: 'DELETE',
    summary: 'Remove a webhook',
    path: `${path}/:id`,
    params: ById,
    response: Webhook,
  }),
  rotateSecret: endpoint({
    ...changes,
    summary: 'Issue a new secret for a webhook; the previous one is used for a while, too',
    path: `${path}/:id/secret`,
    params: ById,
    body: SecretRotation,
    status: 201,
    response: NewWebhook,
  }),
  test: endpoint({
    ...changes,
    summary: 'Send a test to a webhook now',
    path: `${path}/:id/test`,
    params: ById,
    response: WebhookAttempt,
  }),
  rewind: endpoint({
    ...changes,
    summary: 'Continue a webhook at another position',
    path: `${path}/:id/rewind`,
    params: ById,
    body: WebhookRewind,
    response: Webhook,
    errors: ['conflict'],
  }),
}

export const webhooksDocs: ResourceDocs<typeof webhooks> = {
  description:
    'Webhooks by the specification of [Standard Webhooks](https://www.standardwebhooks.com) 1.0: each event of the feed is sent to an address, signed. Each is delivered at least once, and those of a record in their order. A delivery that fails is tried again after 5 seconds, then after twice as long, up to an hour, and then hourly without an end. Changes are entries of the administrators’ log.',
  endpoints: {
    create: {
      description:
        'It begins with the next event; `rewind` sends earlier ones. An account has at most 50. It is never rejected for quota.',
    },
    update: { description: 'It keeps its place, also with a new URL. It is never rejected for quota.' },
    rotateSecret: { description: 'A second rotation ends the first previous secret. It is never rejected for quota.' },
    test: {
      description:
        'The body is `{"type": "test"}`. A test is signed like an event and neither waits for earlier events nor is it repeated. It is never rejected for quota.',
    },
    rewind: {
      description:
        'Events that are sent again have the ids that they had, so a receiver that remembers ids ignores them. What is undelivered before the position is given up. It is never rejected for quota.',
    },
  },
}
