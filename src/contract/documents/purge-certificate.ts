import * as z from 'zod'
import { Instant, KeyId, Sha256 } from './fields.ts'

/** Must not say "anonymous": hash chain, time and actor can still lead to a person. */
export const purgeStatement =
  'personal data removed from these records and their histories; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered'

const Id = z.uuid()

export const PurgeCertificate = z.strictObject({
  type: z.literal('purge_certificate'),
  version: z.literal(1),
  certificate_id: Id.describe('A UUID of version 7.'),
  issued_at: Instant,
  statement: z.literal(purgeStatement),
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
      }),
    )
    .min(1)
    .describe('The service has verified each with its whole history when it issued this.'),
  key_id: KeyId,
})
export type PurgeCertificate = z.output<typeof PurgeCertificate>
