import * as z from 'zod'
import { DeletionStatement, Instant, Sha256 } from './fields.ts'

const Sum = z.int().min(0)
const Id = z.uuid()

/** Without the signature. */
export const ErasureCertificate = z.strictObject({
  type: z.literal('erasure_certificate'),
  version: z.literal(1),
  certificate_id: Id.describe('A UUID of version 7.'),
  issued_at: Instant,
  statement: DeletionStatement.nullable().describe(
    'What was done to each of the records but those in `unverified`, and when personal data is purged by the service’s settings; null without such records.',
  ),
  account_id: Id,
  subject_hmac: Sha256.describe(
    'HMAC-SHA-256 (RFC 2104), in hexadecimal, of the subject_id in UTF-8, with a secret key of the service for the account: it is the same in each certificate about this subject, and cannot be used to test a guess.',
  ),
  erased_by: z.strictObject({
    kind: z.enum(['api_key', 'user']),
    id: Id.describe('The id of that key or user.'),
  }),
  request_id: z.string().describe('The X-Request-Id of the call.'),
  ticket: z.string().nullable().describe('As the caller gave it.'),
  reason: z.string().nullable().describe('As the caller gave it.'),
  erased: Sum.describe('Number of records that this call has deleted.'),
  deleted: Sum.describe(
    'Number of records of the subject that are deleted and not purged yet, by this call or before.',
  ),
  remaining: Sum.describe('Number of live records of the subject that are left.'),
  sites: z
    .array(z.strictObject({ site_id: Id, erased: Sum, deleted: Sum, remaining: Sum }))
    .describe('The same by site, for each site with any of them.'),
  records: z
    .array(z.strictObject({ id: Id, deleted_at: Instant }))
    .describe('The records that this call has deleted, by id: all that `erased` counts.'),
  held: z
    .strictObject({
      until: Instant.describe('When the hold ends.'),
      reason: z.string().describe('As whoever added the hold gave it.'),
      ticket: z.string().nullable().describe('As whoever added the hold gave it.'),
    })
    .optional()
    .describe(
      'The legal hold on the subject that stood at the call, which therefore deleted nothing (GDPR Art. 17(3)(e)); absent without one.',
    ),
  unverified: z
    .array(Id)
    .describe(
      'Those of the records whose history did not verify, or not in the time of the call. They are deleted too; no purge takes a record whose history does not verify.',
    ),
  purge_after_days: Sum.nullable().describe(
    'Days from the deletion until the personal data is purged from the records and their history; null for never.',
  ),
  sealed_proofs: z
    .array(
      z.strictObject({
        site_id: Id,
        basis: z.string().describe('Why the site keeps them.'),
        period: z.string().describe('ISO 8601: how long after the deletion.'),
      }),
    )
    .optional()
    .describe(
      'Sites of the records that keep sealed proofs: a purge leaves a keyed hash of the identifier and the answers. Absent without any.',
    ),
  key_id: z.string().describe('The thumbprint (RFC 7638) of the Ed25519 key that the document is signed with.'),
})

export type ErasureCertificate = z.output<typeof ErasureCertificate>
