import * as z from 'zod'
import { DeletionStatement, PurgeReceiptStatement, Sha256 } from './fields.ts'

const Instant = z.iso.datetime()
const Count = z.int().min(0)

/** `src/erasure/sentences.ts` has the observation behind each statement. */
export const erasureResults = ['deleted', 'already_gone', 'unknown', 'remaining'] as const
export type ErasureResult = (typeof erasureResults)[number]

const ErasedRecord = z.strictObject({
  id: z.string(),
  site_id: z.string().nullable(),
  result: z
    .enum(erasureResults)
    .describe(
      'deleted: the service said so, or shows that it was deleted during the job after an answer was lost. already_gone: deleted by somebody else. unknown: gone, by a deletion whose answer was lost or by somebody else. remaining: still listed when it was verified.',
    ),
  deleted_at: z
    .string()
    .nullable()
    .describe('By the service; if it does not say, when its answer came, by the local clock; null if unknown.'),
  request_id: z
    .string()
    .nullable()
    .describe('The id that the service gave to the request that deleted it; null if unknown.'),
  deleted_at_by: z
    .enum(['service', 'local'])
    .nullable()
    .describe('The clock that deleted_at is of: local if the service does not say when; null if deleted_at is.'),
})
export type ErasedRecord = z.output<typeof ErasedRecord>

const erasureOutcomes = ['erased', 'no_data_held', 'nothing_live', 'proofs_kept', 'remaining'] as const

const counts = {
  deleted: Count,
  already_gone: Count,
  unknown: Count.describe('Gone, not known who deleted them.'),
}

/** Without the signature. */
export const ErasureReceipt = z.strictObject({
  type: z.literal('erasure_receipt'),
  version: z.literal(1),
  key_id: z.string().describe('The signing key, by its thumbprint (RFC 7638).'),
  number: z.int().min(1).describe('1, 2, 3 … without a gap, by profile.'),
  job: z.uuid(),
  instance: z.string().describe('The base URL of the service.'),
  account_id: z
    .string()
    .nullable()
    .describe('The account that was searched, as reported by the service; null if not reported.'),
  api_key_id: z
    .string()
    .nullable()
    .describe('The API key that it was verified with, as reported by the service; null if not reported.'),
  profile: z.string(),
  who: z.string().describe('The user of the operating system.'),
  host: z.string(),
  ticket: z.string(),
  reason: z.string().nullable(),
  received_at: z.iso.date().nullable().describe('When the request was received.'),
  due_at: z.iso
    .date()
    .nullable()
    .describe(
      'By the register of requests, else one month later, on a working day (GDPR Art. 12(3), Regulation 1182/71).',
    ),
  started_at: Instant.describe('By the local clock, as finished_at and checked_at.'),
  finished_at: Instant,
  clock_offset_seconds: z
    .int()
    .nullable()
    .describe('By how much the local clock was ahead of the clock of the service; null if by a minute or less.'),
  subject_hmacs: z.array(Sha256).min(1).describe('HMAC-SHA-256 of each identifier of the subject.'),
  hmac_key: z
    .enum(['account', 'profile'])
    .describe(
      'account: the HMACs are those of the service for this account, as in its certificates. profile: their key comes from the signing key, by HKDF.',
    ),
  subjects: z.array(z.string()).nullable().describe('The identifiers in clear, if that was requested.'),
  result: z
    .enum(erasureOutcomes)
    .describe(
      'Of the account. erased: records were found, and none was live when it was verified. no_data_held: no record was listed, which says nothing of a deletion, and no sealed proof. nothing_live: only records that were deleted before, and hold data until they are purged. proofs_kept: no record, but sealed proofs of purged ones. remaining: live records of the subject were listed when it was verified.',
    ),
  statement: z
    .union([DeletionStatement, PurgeReceiptStatement])
    .nullable()
    .describe(
      'Of the records with the result deleted but those in `unverified`: that they were, and when the service says that it purges personal data; null without such records. In the receipt of a purge: that it was purged, when at the latest, and that the service certified it.',
    ),
  counts: z.strictObject(counts),
  sites: z.array(z.strictObject({ site_id: z.string().nullable(), ...counts })),
  records: z.array(ErasedRecord),
  unverified: z
    .array(z.string())
    .describe(
      'Those of the records with the result deleted whose history did not verify, or not within the call, as reported by the service. No purge takes a record whose history does not verify.',
    ),
  planned_by: z
    .strictObject({ who: z.string(), host: z.string(), created_at: Instant })
    .nullable()
    .describe('Who made the plan, if it came from a file.'),
  plan_sha256: Sha256.nullable().describe(
    'Of the plan; null if the quota was used up, so that only the ids of the records were known.',
  ),
  export_sha256: Sha256.nullable().describe('Of the export that was made before; null if there was none.'),
  verification: z.strictObject({
    checked_at: Instant,
    live: Count.describe('Live records of the subject after the deletion.'),
    deleted: Count.nullable().describe(
      'Deleted records that are not purged yet; null if the service does not show them.',
    ),
    remaining: z.array(z.strictObject({ id: z.string(), site_id: z.string().nullable() })),
    sealed_proofs: z
      .array(
        z.strictObject({
          site_id: z.string(),
          basis: z.string().describe('Why they are kept, as the site said at the purge.'),
          until: Instant.describe('When the last of them ends, or later while a legal hold stands.'),
          proofs: z.int().min(1),
        }),
      )
      .min(1)
      .optional()
      .describe(
        'The sealed proofs of purged records of the subject that the service keeps, by site and basis; at most 1,000 are counted for each identifier. Absent without any, and if the service does not say.',
      ),
  }),
  answers_lost: Count.describe(
    'Calls that deleted several records, and whose answers, and so certificates, were lost.',
  ),
  certificates: z
    .array(z.string())
    .describe('What the service has signed for each call that deleted several records, byte for byte.'),
  previous: z
    .strictObject({ number: z.int().min(1), sha256: Sha256 })
    .nullable()
    .describe('The receipt before this one, with the SHA-256 of its file; null for the first.'),
  purge: z
    .strictObject({
      receipt: z.strictObject({ number: z.int().min(1), sha256: Sha256 }),
      finished_at: Instant.describe('By the local clock.'),
      who: z.string(),
      host: z.string(),
      certificates: z.array(z.string()).min(1).describe('What the service has signed of the purge, byte for byte.'),
    })
    .optional()
    .describe(
      'Only in the receipt of a purge: the personal data of all records with the result deleted was purged, by the certificates. All other fields but number, previous, key_id and statement repeat those of the receipt that it names, and are of its time.',
    ),
  near_matches: Count.nullable().describe(
    'Identifiers with records, live or deleted, that differ from those of the subject only in case, blanks around them or Unicode form, when it was verified; at most 100 are counted for each. None of their records was part of this. Null if the service does not say.',
  ),
})
export type ErasureReceipt = z.output<typeof ErasureReceipt>
