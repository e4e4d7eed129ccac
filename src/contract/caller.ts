import * as z from 'zod'
import { accountRead, endpoint, type ResourceDocs, scopes } from './endpoint.ts'
import { everyRole, roles } from './roles.ts'
import { Id, optional } from './values.ts'

export const CallerIdentity = z.object({
  account_id: Id,
  kind: z.string().meta({ enum: ['api_key', 'user'] }),
  id: Id.describe('The id of that key or user.'),
  role: optional(z.string())
    .meta({ enum: [...roles, null] })
    .describe('Of a user; null for a key.'),
  site_ids: optional(z.array(Id)).describe('The sites that a key is restricted to; null for every site.'),
  scopes: optional(z.array(z.string().meta({ enum: scopes }))).describe('Of a key; null for a user.'),
})
export type CallerIdentity = z.output<typeof CallerIdentity>

export const caller = {
  get: endpoint({
    ...accountRead,
    siteKeys: 'allowed',
    roles: everyRole,
    summary: 'Get the account and the credential of the request',
    path: '/api/v1/caller',
    unit: 'optional',
    response: CallerIdentity,
  }),
}

export const callerDocs: ResourceDocs<typeof caller> = {
  description: 'Who is calling.',
  endpoints: {
    get: {
      description:
        'Documents that a client signs name the account by this: records of another account get the same response as records that do not exist. It is never rejected for quota.',
    },
  },
}
