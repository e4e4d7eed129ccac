import * as z from 'zod'

/** What a receipt says of every erasure: the service keeps the audit trail, and whoever deletes must not claim more. */
export const statement = 'logically deleted, audit trail kept'

const Instant = z.iso.datetime()
const Digest = z.string().regex(/^[\da-f]{64}$/)
const Count = z.int().min(0)

/**
 * What became of a record: deleted by the job; gone when its turn came, by somebody else; deleted by the service
 * itself, with all others of the subject; gone, by the job or by somebody else; still listed when it was verified,
 * whatever its deletion was answered.
 */
export const erasureResults = ['deleted', 'already_gone', 'deleted_in_bulk', 'unknown', 'remaining'] as const
export type ErasureResult = (typeof erasureResults)[number]

const ErasedRecord = z.strictObject({
  id: z.string(),
  site_id: z.string().nullable(),
  result: z
    .enum(erasureResults)
    .describe(
      'deleted: the service said so, or shows that it was deleted during the job, after an answer was lost. already_gone: by somebody else. deleted_in_bulk: the service counted it. unknown: gone, by a deletion whose answer was lost or by somebody else. remaining: still listed when it was verified.',
    ),
  deleted_at: z
    .string()
    .nullable()
    .describe(
      'By the service; where it does not tell, when its answer came, by the local clock; null where unknown.',
    ),
  request_id: z
    .string()
    .nullable()
    .describe('The name that the service gave to the request that deleted it; null where unknown.'),
})
export type ErasedRecord = z.output<typeof ErasedRecord>

const counts = {
  deleted: Count,
  already_gone: Count,
  deleted_in_bulk: Count.describe('As the service itself counted them.'),
  unknown: Count.describe('Gone, nobody knows by whom; some of them may be in deleted_in_bulk too.'),
}

/** The signed document that proves an erasure. Its `signature` is the last line of the file, over all lines before it. */
export const ErasureReceipt = z.strictObject({
  type: z.literal('erasure_receipt'),
  version: z.literal(1),
  key_id: z.string().describe('The signing key, by its thumbprint (RFC 7638).'),
  number: z.int().min(1).describe('1, 2, 3 … without a gap, for each profile.'),
  job: z.uuid(),
  instance: z.string().describe('The base address of the service.'),
  profile: z.string(),
  who: z.string().describe('The user of the operating system.'),
  host: z.string(),
  ticket: z.string(),
  reason: z.string().nullable(),
  received_at: z.iso.date().nullable().describe('When the request was received.'),
  due_at: z.iso.date().nullable().describe('One month later (GDPR Art. 12(3), Regulation 1182/71).'),
  started_at: Instant.describe('By the local clock, as finished_at and checked_at.'),
  finished_at: Instant,
  clock_offset_seconds: z
    .int()
    .nullable()
    .describe('By how much the local clock was ahead of that of the service, where that is over a minute.'),
  subject_hmacs: z
    .array(Digest)
    .min(1)
    .describe('HMAC-SHA-256 of each identifier of the subject; the key comes from the signing key, by HKDF.'),
  subjects: z.array(z.string()).nullable().describe('The identifiers in clear, where that was asked for.'),
  result: z
    .enum(['erased', 'no_data_held', 'nothing_live', 'remaining'])
    .describe(
      'no_data_held: nothing was found. nothing_live: only records that were deleted before, and hold data until they are purged. remaining: records of the subject were still there, or there again, when it was verified.',
    ),
  statement: z.literal(statement),
  counts: z.strictObject(counts),
  sites: z.array(z.strictObject({ site_id: z.string().nullable(), ...counts })),
  records: z.array(ErasedRecord),
  planned_by: z
    .strictObject({ who: z.string(), host: z.string(), created_at: Instant })
    .nullable()
    .describe('Who made the plan, where it came from a file.'),
  plan_sha256: Digest.nullable().describe('Of the plan; null where the service listed nothing to plan from.'),
  export_sha256: Digest.nullable().describe('Of the export that was made first; null for none.'),
  verification: z.strictObject({
    checked_at: Instant,
    live: Count.describe('Records of the subject that were listed after the deletion.'),
    deleted: Count.nullable().describe(
      'Deleted ones that the service still holds; null where it does not show them.',
    ),
    remaining: z.array(z.strictObject({ id: z.string(), site_id: z.string().nullable() })),
  }),
  answers_lost: Count.describe('Deletions in bulk whose answers, and so their counts, were lost.'),
  certificates: z
    .array(z.string())
    .describe('What the service itself has signed for each batch that it deleted, byte for byte.'),
  previous: z
    .strictObject({ number: z.int().min(1), sha256: Digest })
    .nullable()
    .describe('The receipt before this one, by the SHA-256 of its file; null for the first.'),
})
export type ErasureReceipt = z.output<typeof ErasureReceipt>
