import * as z from 'zod'
import { ErasureReceipt } from './erasure-receipt.ts'

const Count = z.int().min(0)
const Version = z.int().min(1)

export const withdrawalResults = ['withdrawn', 'already_off', 'gone', 'unknown', 'remaining'] as const

const TurnedOffRecord = z.strictObject({
  id: z.string(),
  site_id: z.string().nullable(),
  result: z
    .enum(withdrawalResults)
    .describe(
      'withdrawn: the service said so, or the history shows that the key of the job did it during the job after an answer was lost. already_off: it granted none of the purposes any more, by a change of somebody else. gone: it was deleted by somebody else. unknown: it grants none any more, and it is not known by whose change. remaining: it still granted one when it was verified.',
    ),
  purposes: z.array(z.string()).describe('Those that were turned off; empty unless the result is withdrawn.'),
  accepted: z
    .boolean()
    .nullable()
    .describe('Of the record after the change: false if it grants no purpose any more; null if unknown.'),
  before: Version.nullable().describe('The version that granted them; null if unknown.'),
  version: Version.nullable().describe('The version that the change made; null if unknown.'),
  changed_at: z.string().nullable().describe('When it was changed, by the service; null if unknown.'),
  request_id: z
    .string()
    .nullable()
    .describe('The id that the service gave to the request that changed it; null if unknown.'),
})
export type TurnedOffRecord = z.output<typeof TurnedOffRecord>

const withdrawalOutcomes = ['withdrawn', 'nothing_given', 'still_given'] as const

const counts = { withdrawn: Count, already_off: Count, gone: Count, unknown: Count }

/** Without the signature. Shares its chain and what it says of its making with the receipts of erasures. */
export const WithdrawalReceipt = z.strictObject({
  type: z.literal('withdrawal_receipt'),
  version: z.literal(1),
  ...ErasureReceipt.pick({
    key_id: true,
    number: true,
    job: true,
    instance: true,
    account_id: true,
    api_key_id: true,
    profile: true,
    who: true,
    host: true,
    ticket: true,
    reason: true,
    received_at: true,
    due_at: true,
    started_at: true,
    finished_at: true,
    clock_offset_seconds: true,
    subject_hmacs: true,
    hmac_key: true,
    subjects: true,
    near_matches: true,
    previous: true,
  }).shape,
  purposes: z.array(z.string()).min(1).describe('What was to be withdrawn: keys of the preferences.'),
  site_id: z.string().nullable().describe('The only site that was searched; null for all of the account.'),
  result: z
    .enum(withdrawalOutcomes)
    .describe(
      'withdrawn: records granted one of the purposes, and none did when it was verified. nothing_given: no record granted one. still_given: records granted one when it was verified.',
    ),
  counts: z.strictObject(counts),
  records: z.array(TurnedOffRecord).describe('The records that granted one of the purposes when they were listed.'),
  verification: z.strictObject({
    checked_at: z.iso.datetime(),
    live: Count.describe('Live records of the subject after the withdrawal.'),
    not_answered: Count.describe(
      'Those of them that are accepted and have neither true nor false for one of the purposes, so that they do not grant it. They were not changed.',
    ),
    remaining: z
      .array(z.strictObject({ id: z.string(), site_id: z.string().nullable() }))
      .describe('Those of them that grant one of the purposes.'),
  }),
  answers_lost: Count.describe('Calls that changed records, and whose answers were lost.'),
})
export type WithdrawalReceipt = z.output<typeof WithdrawalReceipt>

export function withdrawalResult({
  records,
  remaining,
}: {
  readonly records: number
  readonly remaining: number
}): WithdrawalReceipt['result'] {
  if (remaining > 0) return 'still_given'
  return records > 0 ? 'withdrawn' : 'nothing_given'
}
