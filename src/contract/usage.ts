import * as z from 'zod'
import { accountRead, endpoint, type ResourceDocs } from './endpoint.ts'
import { readers } from './roles.ts'
import { Count, Timestamp } from './values.ts'

export const Usage = z.object({
  month: z.string().meta({ pattern: '^\\d{4}-\\d\\d$' }).describe('The calendar month in UTC.'),
  used: Count,
  limit: Count.meta({ examples: [10_000] })
    .nullable()
    .describe('Requests per month; null for unlimited.'),
  remaining: Count.nullable(),
  resets_at: Timestamp.describe('When the next month begins.'),
})
export type Usage = z.output<typeof Usage>

export const usage = {
  get: endpoint({
    ...accountRead,
    siteKeys: 'rejected',
    roles: readers,
    summary: 'Get the usage of the monthly quota',
    path: '/api/v1/usage',
    unit: 'free',
    response: Usage,
  }),
}

export const usageDocs: ResourceDocs<typeof usage> = {
  description: 'The monthly quota.',
  endpoints: { get: { description: 'It takes no unit of the quota, and is never rejected for it.' } },
}
