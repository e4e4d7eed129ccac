import * as z from 'zod'
import { Count, ExactCount, Id, Timestamp, text, Uuid } from './values.ts'

/** Maximum number of ids in a request, and of records in a response. */
export const withdrawnRecordsLimit = 1000

export const mostPurposes = 20

export const Purposes = z
  .array(text(1, 255), 'must be a list')
  .min(1, 'must not be empty')
  .max(mostPurposes, `must have at most ${mostPurposes} purposes`)
  .refine(list => new Set(list).size === list.length, 'must not name a purpose twice')
  .meta({ uniqueItems: true, examples: [['marketing']] })

export const SubjectWithdrawal = z.strictObject({
  subject_id: text(1, 255).describe('Identifier of the data subject, compared exactly.'),
  purposes: Purposes.describe('Keys of the preferences.'),
  site_id: Uuid.optional().describe('Only records of this site.'),
  ids: z
    .array(Uuid, 'must be a list of UUIDs')
    .max(withdrawnRecordsLimit, `must have at most ${withdrawnRecordsLimit} ids`)
    .optional()
    .describe('Only these records of the subject are changed, none if it is empty; without it all.'),
  dry_run: z.boolean('must be true or false').optional().describe('Only count and list; false unless set to true.'),
  after: Uuid.optional().describe('Only records whose ids come after this one: for the next page of a dry run.'),
})
export type SubjectWithdrawal = z.output<typeof SubjectWithdrawal>

const WithdrawnRecord = z.object({
  id: Id,
  site_id: Id,
  purposes: z
    .array(z.string())
    .meta({ examples: [['marketing']] })
    .describe('Those of the request that it granted, and that are turned off.'),
  accepted: z.boolean().describe('After the change: false if it grants no purpose any more.'),
  before: Count.meta({ minimum: 1 }).describe('Version of the record that granted them.'),
  version: Count.meta({ minimum: 1 }).nullable().describe('Version of the change; null in a dry run.'),
  changed_at: Timestamp.nullable().describe('Time of the change; null in a dry run.'),
})
export type WithdrawnRecord = z.output<typeof WithdrawnRecord>

export const SubjectWithdrawn = z.object({
  withdrawn: ExactCount.describe('Number of records that this call has changed; in a dry run, that it would change.'),
  remaining: ExactCount.describe(
    'Number of live records of the subject (on the site) that grant one of the purposes now.',
  ),
  live: ExactCount.describe('Number of live records of the subject (on the site).'),
  not_answered: ExactCount.describe(
    'Number of live records of the subject (on the site) that are accepted, and whose preferences have neither true nor false for one of the purposes: they do not grant it, and stay as they are.',
  ),
  complete: z
    .boolean()
    .describe('True if none of the records that were to be changed grants one of the purposes. If false, call again.'),
  dry_run: z.boolean(),
  records: z
    .array(WithdrawnRecord)
    .max(withdrawnRecordsLimit)
    .describe('What `withdrawn` counts, by id, oldest first; in a dry run the first of them.'),
})
export type SubjectWithdrawn = z.output<typeof SubjectWithdrawn>
