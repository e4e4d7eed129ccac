import * as z from 'zod'
import { endpoint, NoQuery } from './endpoint.ts'
import { Count, Timestamp } from './values.ts'

/** What an account has used of its monthly quota. */
export const Usage = z.object({
  month: z.string().meta({ pattern: '^\\d{4}-\\d\\d$' }).describe('The calendar month in UTC.'),
  used: Count,
  limit: Count.meta({ examples: [10_000] })
    .nullable()
    .describe('Requests a month; null is unlimited.'),
  remaining: Count.nullable(),
  resets_at: Timestamp.describe('When the next month begins.'),
})
export type Usage = z.output<typeof Usage>

export const usage = {
  get: endpoint({
    summary: 'What is used of the monthly quota',
    method: 'GET',
    path: '/api/v1/usage',
    access: 'account',
    scope: 'read',
    query: NoQuery,
    status: 200,
    response: Usage,
  }),
}
