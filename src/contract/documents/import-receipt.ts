import * as z from 'zod'
import { Instant, KeyId, Sha256 } from './fields.ts'

const Sum = z.int().min(0)

const rows = {
  read: Sum.describe('The sum of the others.'),
  records: Sum.describe('First answers: each made one of the records that were sent.'),
  changes: Sum.describe('Later answers of the same person, which were sent as changes of these records.'),
  merged: Sum.describe('Rows that are part of the answer of another row.'),
  duplicates: Sum.describe('Rows that say the same as another one of the same person and time.'),
  left_out: Sum.describe('Rows that the map does not take for the answer of a person.'),
  refused: Sum.describe(
    'Rows that could not be read as an answer, and all other rows of their persons. They were not sent.',
  ),
}

const fields = z.strictObject({
  type: z.literal('import_receipt'),
  version: z.literal(1),
  key_id: KeyId,
  number: z.int().min(1).describe('1, 2, 3 … without a gap, by profile; erasure receipts have numbers of their own.'),
  job: z.uuid(),
  instance: z.string().describe('The base URL of the service.'),
  account_id: z.uuid().nullable().describe('By the service; null if the key may not ask.'),
  api_key_id: z
    .uuid()
    .nullable()
    .describe(
      'Of the run that ended the import, as who and host: the history of each record has the key that made it. By the service; null if the key may not ask.',
    ),
  profile: z.string(),
  who: z.string().describe('The user of the operating system.'),
  host: z.string(),
  site_id: z.uuid(),
  format: z.string().describe('The name of the format, as --from has it.'),
  system: z.string().describe('The origin.system of the records.'),
  map_sha256: Sha256.describe('Of the map, in canonical JSON (RFC 8785), that says what the rows mean.'),
  policy_version: z.int().min(1).nullable().describe('Given for all answers; null to take it from the rows.'),
  timezone: z.string().nullable().describe('Given for local times; null to take it from the rows or the map.'),
  csv_unguard: z
    .boolean()
    .describe("True if a ' before = + - @ at the start of a cell of a CSV was removed, as --csv-unguard does."),
  files: z
    .array(z.strictObject({ name: z.string(), size: Sum.describe('In bytes.'), sha256: Sha256 }))
    .min(1)
    .describe('As they were read, compressed or not.'),
  rows: z.strictObject(rows).describe('Of the files.'),
  left_out: z
    .array(z.strictObject({ table: z.string().describe('Of the map.'), value: z.string(), rows: Sum }))
    .describe('By the value that left them out.'),
  refused_rows: z.array(z.strictObject({ reason: z.string(), rows: Sum })),
  first_given_at: Instant.nullable().describe(
    'The earliest of all answers sent, as the files state; null without answers.',
  ),
  last_given_at: Instant.nullable(),
  sent_sha256: Sha256.describe('Of the records as they were sent: a line of JSON each, without the site.'),
  started_at: Instant.describe('By the local clock, as finished_at.'),
  finished_at: Instant,
  began_at: Instant.describe('A time before any record was sent, by the clock of the service.'),
  records: z
    .strictObject({
      made: Sum.describe('Made by this import.'),
      made_unanswered: Sum.describe(
        'Those of `made` that no answer says were made by it: an answer was lost, and the record, which was there when it was sent again, is of a time since began_at.',
      ),
      known: Sum.describe('There before, and left as they were.'),
      refused: Sum,
    })
    .describe('All that were sent: their sum without made_unanswered is `records` of the rows.'),
  refused_records: z
    .array(
      z.strictObject({
        code: z.string(),
        message: z.string().nullable().describe('With # for numbers, ids and quoted text; null for various ones.'),
        records: Sum,
      }),
    )
    .describe('By the answer of the service.'),
  previous: z
    .strictObject({ number: z.int().min(1), sha256: Sha256.describe('Of its file.') })
    .nullable()
    .describe('The import receipt of the profile before this one.'),
})

const add = (sums: readonly number[]) => sums.reduce((total, sum) => total + sum, 0)
const addRows = (parts: readonly { readonly rows: number }[]) => add(parts.map(part => part.rows))

/** Checks that the numbers add up. */
export const ImportReceipt = fields
  .refine(({ rows: { read, ...parts } }) => add(Object.values(parts)) === read, {
    path: ['rows'],
    message: 'do not add up to those read',
  })
  .refine(({ rows, left_out }) => addRows(left_out) === rows.left_out, {
    path: ['left_out'],
    message: 'do not add up to the rows left out',
  })
  .refine(({ rows, refused_rows }) => addRows(refused_rows) === rows.refused, {
    path: ['refused_rows'],
    message: 'do not add up to the rows refused',
  })
  .refine(({ rows, records: { made, known, refused } }) => made + known + refused === rows.records, {
    path: ['records'],
    message: 'do not add up to the rows that made records',
  })
  .refine(({ records }) => records.made_unanswered <= records.made, {
    path: ['records', 'made_unanswered'],
    message: 'must not be more than made',
  })
  .refine(({ records, refused_records }) => add(refused_records.map(part => part.records)) === records.refused, {
    path: ['refused_records'],
    message: 'do not add up to the records refused',
  })
  .refine(({ rows, first_given_at: first, last_given_at: last }) => {
    if (rows.records === 0) return first === null && last === null
    return first !== null && last !== null && first <= last
  }, 'first_given_at and last_given_at contradict each other or the records')
export type ImportReceipt = z.output<typeof ImportReceipt>

/** Known before anything is sent. */
export const ImportAbout = fields.pick({
  account_id: true,
  format: true,
  system: true,
  map_sha256: true,
  policy_version: true,
  timezone: true,
  csv_unguard: true,
  files: true,
  rows: true,
  left_out: true,
  refused_rows: true,
  first_given_at: true,
  last_given_at: true,
  started_at: true,
  began_at: true,
})
export type ImportAbout = z.output<typeof ImportAbout>
