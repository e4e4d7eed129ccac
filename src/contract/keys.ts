import * as z from 'zod'
import { ById, endpoint, NoQuery, type ResourceDocs, scopes } from './endpoint.ts'
import { owners, readers } from './roles.ts'
import { Id, Instant, optional, Timestamp, text, Uuid } from './values.ts'

const path = '/api/v1/keys'

export const ApiKey = z.object({
  id: Id,
  name: z.string(),
  hint: z.string().nullable().describe('The last characters of its text, to recognize it.'),
  scopes: z.array(z.enum(scopes)),
  site_ids: optional(z.array(Id)).describe('The sites whose records it reaches; null for every site.'),
  created_by: optional(z.string()).describe(
    'The e-mail address of the user who created it, or the id of a removed user; null if no user did.',
  ),
  created_at: Timestamp,
  expires_at: Timestamp.nullable(),
  last_used_on: z.string().meta({ format: 'date' }).nullable().describe('A day in UTC.'),
  revoked_at: Timestamp.nullable(),
})
export type ApiKey = z.output<typeof ApiKey>

export const KeyDraft = z.strictObject({
  name: text(1, 100),
  scopes: z
    .array(z.enum(scopes, `must be one of ${scopes.join(', ')}`), 'must be a list')
    .min(1, 'must not be empty')
    .refine(list => new Set(list).size === list.length, 'must not name a scope twice')
    .meta({ uniqueItems: true })
    .optional(),
  site_ids: z
    .array(Uuid, 'must be a list')
    .min(1, 'must not be empty')
    .max(50, 'must have at most 50 sites')
    .refine(list => new Set(list).size === list.length, 'must not name a site twice')
    .meta({ uniqueItems: true })
    .nullable()
    .optional()
    .describe('Restricts it to the records of these sites. Default: null, for every site.'),
  expires_at: Instant.optional(),
})
export type KeyDraft = z.output<typeof KeyDraft>

export const NewApiKey = ApiKey.extend({ key: z.string().meta({ pattern: '^sk-' }) })
export type NewApiKey = z.output<typeof NewApiKey>

/** Sessions only: a key cannot create another key. */
export const keys = {
  list: endpoint({
    summary: 'List the API keys of the account, newest first',
    method: 'GET',
    path,
    access: 'session',
    roles: readers,
    query: NoQuery,
    status: 200,
    response: z.object({ data: z.array(ApiKey) }),
  }),
  create: endpoint({
    summary: 'Create an API key; only this response has its text',
    method: 'POST',
    path,
    access: 'session',
    roles: owners,
    query: NoQuery,
    body: KeyDraft,
    status: 201,
    response: NewApiKey,
    errors: ['not_found'],
  }),
  revoke: endpoint({
    summary: 'Revoke an API key',
    method: 'DELETE',
    path: `${path}/:id`,
    access: 'session',
    roles: owners,
    params: ById,
    query: NoQuery,
    status: 200,
    response: ApiKey,
  }),
}

export const keysDocs: ResourceDocs<typeof keys> = {
  description: 'API keys, for signed-in users.',
  endpoints: {
    create: {
      description:
        'It has the scopes read, write and erase and never expires unless given; an expiry must be in the future. `notices`, `import` and `webhooks` must be named.\n\nA key with `site_ids` reaches the records and notices of these sites alone. What is of another site is unknown to it, and what is of the whole account is rejected (403 `site_restricted`): the register of requests, purges, webhooks, the usage of the quota and the administrators’ log.',
    },
    revoke: { description: 'It stops working within a second on every node.' },
  },
}
