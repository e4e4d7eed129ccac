import * as z from 'zod'
import { ConsentQuery, isRange } from './consents.ts'
import { accountRead, endpoint, type ResourceDocs } from './endpoint.ts'
import { parseInstant } from './instant.ts'
import { everyRole, readers } from './roles.ts'
import { Count, Id, optional, QueryBoolean, Timestamp, Uuid } from './values.ts'

/** Smaller groups are hidden without `exact`. */
export const leastPersons = 10

const Day = z
  .string()
  .refine(value => /^\d{4}-\d\d-\d\d$/.test(value) && parseInstant(`${value}T00:00:00Z`) !== null, {
    error: 'must be a day such as 2026-01-31: statistics count whole days (UTC)',
  })
  .meta({ format: 'date', examples: ['2026-01-31'] })

export const groupings = ['day', 'week', 'month', 'site', 'policy', 'country', 'preference'] as const

export const StatsQuery = z
  .strictObject({
    site_id: Uuid.optional(),
    from: Day.optional().describe('The first day of created_at, UTC.'),
    to: Day.optional().describe('The last day of created_at, UTC, inclusive.'),
    by: z.enum(groupings, `must be one of ${groupings.join(', ')}`).optional(),
    exact: QueryBoolean.optional().describe('Include the numbers of groups of fewer than ten persons.'),
  })
  .refine(({ from, to }) => !from || !to || from <= to, { error: 'must not be after to', path: ['from'] })
export type StatsQuery = z.output<typeof StatsQuery>

const Shown = Count.nullable().default(null)

const Numbers = z.object({
  records: Shown.describe('Created in the range, deleted ones included.'),
  persons: Shown.describe('Distinct values of subject_id. Null by preference.'),
  anonymous: Shown.describe('Records without a subject_id. Null by preference.'),
  accepted: Shown.describe(
    'Consent given as last stated: for this purpose, or for at least one of those of its notice (of any, if that names none). Also without an answer for a purpose.',
  ),
  refused: Shown.describe('All others.'),
  withdrawn: Shown.describe('Of the refused those where it was given once.'),
  deleted: Shown,
  hidden: optional(z.string().meta({ enum: ['small', 'remainder'] })).describe(
    'Why the numbers are null: fewer than ten persons, or they would follow from the total. Null if shown.',
  ),
})

const Imported = Shown.describe('Of the records those that were imported, on the days of their import.')

export const StatsGroup = z.object({
  group: z
    .string()
    .nullable()
    .describe(
      'A day, the Monday of a week, a month, a site, a policy version, a country (null: unknown), a preference. Null if it is the last and `truncated` is true: all others.',
    ),
  site_id: optional(Id).describe('By site and by policy.'),
  site_name: optional(z.string()).describe('By site and by policy.'),
  ...Numbers.shape,
  imported: Imported,
})
export type StatsGroup = z.output<typeof StatsGroup>

export const Stats = z.object({
  complete: z.boolean().describe('True if everything is counted, at this moment.'),
  uncounted: optional(Count).describe(
    'Events that are not counted yet: 0 if it is complete. Null if the instance does not say.',
  ),
  truncated: z.boolean().default(false).describe('True if the last group is the sum of all that are not listed.'),
  as_of: Timestamp.nullable().describe(
    'Unless it is complete, everything written until then is counted; null if nothing is yet.',
  ),
  total: Numbers.extend({ imported: Imported }),
  groups: z.array(StatsGroup).describe('Empty unless `by` is given. Only those with records.'),
})
export type Stats = z.output<typeof Stats>

const { cursor: _, limit: __, ...filters } = ConsentQuery.shape

export const CountQuery = z.strictObject(filters).refine(isRange, { error: 'must not be after to', path: ['from'] })
export type CountQuery = z.output<typeof CountQuery>

export const stats = {
  get: endpoint({
    ...accountRead,
    siteKeys: 'filtered',
    roles: everyRole,
    summary: 'Count records, persons and their answers',
    path: '/api/v1/stats',
    query: StatsQuery,
    response: Stats,
  }),
  count: endpoint({
    ...accountRead,
    siteKeys: 'filtered',
    roles: readers,
    summary: 'Count the records of a list',
    path: '/api/v1/stats/count',
    query: CountQuery,
    response: z.object({ count: Count.meta({ examples: [1234] }) }),
  }),
}

export const statsDocs: ResourceDocs<typeof stats> = {
  description: 'Statistics.',
  endpoints: {
    get: {
      description:
        'Deleted and purged records count, so a purge changes no number; it takes one unit of the quota. A person is a `subject_id`. One whose records were all purged cannot be recognized, and counts again with a new record. A `subject_id` with more than 1,000 records is not counted as a person: its further records are anonymous.\n\nBy preference there are the top-level keys whose value is or was true or false in one of the last 20 changes of a record, with the records that answered it, unless they have more than 64 characters or an @, or begin with a digit or a +: keys stay after a purge; the rest of these rows is about records.\n\nGroups of fewer than ten persons are hidden unless `exact` is true. A record without a `subject_id` counts as one person here, and by preference each record does. If the hidden groups would follow from the total, more are hidden, smallest first. This is for tables that are passed on: every caller that can read statistics can also request exact ones, or subtract two answers.\n\nAn answer is complete unless the account has more than 10,000 new events: a background job counts them after the next checkpoint.\n\nVisitors name policies and preferences, so their number is limited: of a site and a day the first 500 of each are counted apart, and the largest 1,000 groups are listed. The sum of all others is the last group, whose name is null, and in which a record or person counts once for each of them; persons of the listed policies may then be too few.',
      success: 'The total, and the groups.',
    },
    count: { description: 'With the filters of the list, at this moment. It takes one unit of the quota.' },
  },
}
