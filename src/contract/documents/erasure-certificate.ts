import * as z from 'zod'

const Sum = z.int().min(0)
const Id = z.uuid()
const Instant = z.iso.datetime({ precision: 3 })

/** What the service says of an erasure that it has done; without the signature, which is its last line. */
export const ErasureCertificate = z.strictObject({
  type: z.literal('erasure_certificate'),
  version: z.literal(1),
  certificate_id: Id.describe('A UUID of version 7.'),
  issued_at: Instant,
  statement: z
    .literal('logically deleted, audit trail kept')
    .describe('What was done to each record that is counted here.'),
  account_id: Id,
  subject_hmac: z
    .string()
    .regex(/^[\da-f]{64}$/)
    .describe(
      'HMAC-SHA-256 (RFC 2104), in hexadecimal, of the subject_id in UTF-8, under a key that the service keeps for the account ' +
        'and tells nobody: the same in each certificate on this subject, and of no use to whoever wants to guess it.',
    ),
  erased_by: z.strictObject({
    kind: z.enum(['api_key', 'user']),
    id: Id.describe('The id of that key or user.'),
  }),
  ticket: z.string().nullable().describe('As the caller gave it.'),
  reason: z.string().nullable().describe('As the caller gave it.'),
  erased: Sum.describe('Records that this call has deleted.'),
  deleted: Sum.describe('Records of the subject that are deleted by now and not purged yet, by whomever.'),
  remaining: Sum.describe('Live records of the subject that are left.'),
  sites: z
    .array(z.strictObject({ site_id: Id, erased: Sum, deleted: Sum, remaining: Sum }))
    .describe('The same by site, for each site that has any.'),
  purge_after_days: Sum.nullable().describe(
    'Days from the deletion until the personal data is purged from the records and their history; null for never.',
  ),
  key_id: z
    .string()
    .describe('The thumbprint (RFC 7638) of the Ed25519 key that the document is signed with.'),
})
export type ErasureCertificate = z.output<typeof ErasureCertificate>
