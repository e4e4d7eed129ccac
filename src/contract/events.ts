import * as z from 'zod'
import { auditActions } from './audit.ts'
import { Sha256 } from './documents/fields.ts'
import { accountRead, endpoint, type ResourceDocs } from './endpoint.ts'
import { readers } from './roles.ts'
import { Count, Id, Instant, QueryBoolean, queryInteger, Timestamp } from './values.ts'

/** Of a record. Those of the administrators' log are `account.` and the action of their entry. */
export const eventTypes = [
  'created',
  'imported',
  'updated',
  'withdrawn',
  'deleted',
  'erased',
  'restored',
  'purged',
] as const

const everyType: readonly string[] = [...eventTypes, ...auditActions.map(action => `account.${action}`)]

export const EventType = z
  .string()
  .refine(type => everyType.includes(type), `must be ${eventTypes.join(', ')}, or account. and an action`)
  .meta({ enum: everyType })

export const Event = z.object({
  position: Count.describe('The leaf of its entry in the log of the account: from 0, without gaps.'),
  hash: Sha256.describe('Of the audit entry: the data of the leaf, so that the root of the log can be computed.'),
  type: z
    .string()
    .meta({ examples: ['withdrawn'] })
    .describe(
      `\`${eventTypes.join('`, `')}\`, or \`account.\` and an action of the administrators’ log, such as \`account.notice_published\`. \`withdrawn\` if the acceptance or a purpose was true before. \`unreadable\` if the entry is gone or was changed.`,
    ),
  at: Timestamp.nullable().describe('When the entry was made. Null if it is unreadable.'),
  record_id: Id.nullable().describe('Null of an entry of the administrators’ log.'),
  version: Count.meta({ minimum: 1 }).describe('Of the entry, in its record or in the administrators’ log.'),
  site_id: Id.nullable(),
  accepted: z.boolean().nullable().describe('After it.'),
  purposes: z
    .record(z.string(), z.tuple([z.boolean().nullable(), z.boolean().nullable()]))
    .nullable()
    .meta({ examples: [{ marketing: [true, false] }] })
    .describe(
      'The preferences that changed and are or were true or false: before and after, null for neither. Null as soon as the record is purged.',
    ),
  actor_kind: z.string().nullable(),
  target: z
    .object({ kind: z.string(), id: z.string() })
    .nullable()
    .describe('What an entry of the administrators’ log is about.'),
})
export type Event = z.output<typeof Event>

export const maxEventWait = 25

const EventQuery = z.strictObject({
  after: queryInteger(0, 9_999_999_998)
    .optional()
    .describe('The position behind which the page begins. Default: the first event.'),
  newest: QueryBoolean.optional().describe('True begins behind the last entry that is committed now.'),
  from: Instant.optional().describe(
    'Begins at the first event that may be of this time or later, instead of behind a position. Some before it may be earlier.',
  ),
  limit: queryInteger(1, 1000).optional().meta({ default: 100 }),
  wait: queryInteger(0, maxEventWait)
    .optional()
    .meta({ default: 0 })
    .describe('Seconds to wait if there is no event. The log of the account is then continued once a second.'),
})
export type EventQuery = z.output<typeof EventQuery>

export const EventPage = z.object({
  data: z.array(Event).describe('By position. Fewer than `limit` for a key that is restricted to sites, even none.'),
  next_after: Count.nullable().describe('`after` of the next page. Null if there is no event at all yet.'),
})
export type EventPage = z.output<typeof EventPage>

export const events = {
  list: endpoint({
    ...accountRead,
    siteKeys: 'filtered',
    roles: readers,
    summary: 'Follow what happens to the records of the account',
    path: '/api/v1/events',
    unit: 'optional',
    errors: ['conflict'],
    query: EventQuery,
    response: EventPage,
  }),
}

export const eventsDocs: ResourceDocs<typeof events> = {
  description:
    'The log of the account as a feed. Every change of a record is an entry of its history, and so an event; an expiry is none. There is no identifier, address or other personal data in it.',
  endpoints: {
    list: {
      description:
        'An entry gets its position after it is committed: at the next checkpoint, or within a second while somebody waits. Positions and hashes never change, so a follower that keeps the last position misses nothing; a key of all sites gets every position. Of a purged record the purposes are gone, also in its earlier events, and a `withdrawn` may then be an `updated`. An `after` that the log does not have is a 409: it was restored from a backup and lost events. It is never rejected for quota.',
      success: 'A page, empty if nothing happened in time.',
    },
  },
}
