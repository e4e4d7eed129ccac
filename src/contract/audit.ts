import * as z from 'zod'
import { accountRead, endpoint, type ResourceDocs } from './endpoint.ts'
import { readers } from './roles.ts'
import { Count, Id, Instant, pageOf, pageQuery, Timestamp, text } from './values.ts'

export const auditActions = [
  'account_created',
  'site_created',
  'site_updated',
  'site_token_rotated',
  'key_created',
  'key_revoked',
  'user_added',
  'user_removed',
  'password_changed',
  'quota_changed',
  'notice_published',
  'request_created',
  'request_updated',
  'request_extended',
  'request_closed',
  'hold_added',
  'hold_removed',
  'document_kept',
  'webhook_created',
  'webhook_updated',
  'webhook_removed',
  'webhook_secret_rotated',
  'webhook_rewound',
  'webhook_failing',
  'webhook_recovered',
  'records_purged',
  'imported',
] as const
export type AuditAction = (typeof auditActions)[number]

/** `admin`: a command on the server's machine. */
export const auditActors = ['user', 'api_key', 'admin', 'system'] as const

export const auditTargets = [
  'account',
  'site',
  'api_key',
  'user',
  'notice',
  'request',
  'hold',
  'document',
  'webhook',
] as const

export interface AuditTarget {
  readonly kind: (typeof auditTargets)[number]
  readonly id: string
}

const Values = z.record(z.string(), z.unknown()).nullable()
const values = { name: 'Shop', updated_at: '2026-11-20T18:45:07.123Z' }

export const AccountEntry = z.object({
  version: Count.meta({ minimum: 1 }).describe('From 1, without gaps, in each account.'),
  at: Timestamp.meta({ examples: ['2026-11-20T18:45:07.123Z'] }),
  action: z
    .string()
    .meta({ enum: [...auditActions, 'unreadable'] })
    .describe('`unreadable` if the document was changed and cannot be read: `admin verify` reports such entries.'),
  actor: z.object({
    kind: z
      .string()
      .meta({ enum: [...auditActors, 'unknown'] })
      .describe('`unknown` of an unreadable entry.'),
    id: Id.nullable().describe('Of a user or an API key.'),
    name: z.string().nullable().describe('The e-mail of a user or the name of an API key, as it is now.'),
  }),
  target: z
    .record(z.string(), z.unknown())
    .meta({ examples: [{ kind: 'site', id: '0198f3a2-7c11-7def-8a5b-2f6f3c1e9d40' }] })
    .describe('What was changed: its kind and id, and of a notice the policy version.'),
  before: Values.meta({ examples: [{ ...values, name: 'Store' }] }).describe(
    'What changed, as it was; null of what is new.',
  ),
  after: Values.meta({ examples: [values] }).describe('As it is since; null of what was removed.'),
  hash: z
    .string()
    .meta({ pattern: '^[0-9a-f]{64}$' })
    .describe('SHA-256 of the document: the leaf of the account’s log with the id of the account and this version.'),
  document: z
    .string()
    .meta({ examples: ['{"type": "account_entry", "version": 7}'] })
    .describe('The entry as it was hashed, in JSON.'),
})
export type AccountEntry = z.output<typeof AccountEntry>

export const AuditQuery = z.strictObject({
  actor: text(1, 320)
    .optional()
    .meta({ examples: ['maria@example.com'] })
    .describe('An id, an e-mail, the name of an API key, or a kind such as `admin`.'),
  action: z.enum(auditActions, `must be one of ${auditActions.join(', ')}`).optional(),
  target: text(1, 100)
    .optional()
    .meta({ examples: ['site'] })
    .describe('An id, or a kind such as `site`.'),
  from: Instant.optional(),
  to: Instant.optional(),
  ...pageQuery,
})
export type AuditQuery = z.output<typeof AuditQuery>

export const AuditPage = pageOf(AccountEntry)
export type AuditPage = z.output<typeof AuditPage>

export const audit = {
  list: endpoint({
    ...accountRead,
    siteKeys: 'rejected',
    roles: readers,
    summary: 'List who changed which setting, newest first',
    path: '/api/v1/audit',
    unit: 'optional',
    query: AuditQuery,
    response: AuditPage,
  }),
}

export const auditDocs: ResourceDocs<typeof audit> = {
  description:
    'The administrators’ log: every change of sites, keys, users, passwords, quotas and notices, every legal hold, every kept document of an erasure or withdrawal, every change of a data subject’s request, every purge, every change of a webhook and of whether it fails, and every `admin import` of an account. Records that were imported from another tool have that in their own histories.',
  endpoints: {
    list: {
      description:
        'Entries are leaves of the account’s log: `GET /api/v1/log/inclusion` proves them, with the account’s id as `record_id`. They contain digests of tokens, keys and passwords, and the e-mails of users. A page looks at 2,000 entries at most, so with filters it may have fewer than `limit`, or none, and a cursor nevertheless. An unreadable entry is in it whatever the actor, action and target of the filters. It is never rejected for quota.',
    },
  },
}
