import * as z from 'zod'
import { Instant, KeyId, Sha256 } from './fields.ts'

/** Must not say "anonymous": hash chain, time and actor can still lead to a person. */
export const purgeStatement =
  'personal data removed from these records and their histories; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered'

/** If the purge of any record left a sealed proof. */
export const sealedPurgeStatement =
  'personal data removed from these records and their histories, but for the sealed proofs that are named: a keyed hash of the identifier and the answers; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered'

const Id = z.uuid()

export const PurgeCertificate = z.strictObject({
  type: z.literal('purge_certificate'),
  version: z.literal(1),
  certificate_id: Id.describe('A UUID of version 7.'),
  issued_at: Instant,
  statement: z.enum([purgeStatement, sealedPurgeStatement]),
  account_id: Id,
  requested_by: z.strictObject({
    kind: z.enum(['api_key', 'user']),
    id: Id.describe('The id of that key or user.'),
  }),
  request_id: z.string().describe('The X-Request-Id of the call.'),
  records: z
    .array(
      z.strictObject({
        id: Id,
        site_id: Id,
        deleted_at: Instant,
        purged_at: Instant,
        chain_head: Sha256.describe('The hash of the last entry of the history, which is the purge.'),
        sealed: z
          .strictObject({
            basis: z.string().describe('Why it is kept, as the site said at the purge.'),
            until: Instant.describe('When it is removed, unless a legal hold keeps it.'),
          })
          .optional()
          .describe('The sealed proof that the purge left; absent without one.'),
      }),
    )
    .min(1)
    .describe('The service has verified each with its whole history when it issued this.'),
  key_id: KeyId,
})
export type PurgeCertificate = z.output<typeof PurgeCertificate>
