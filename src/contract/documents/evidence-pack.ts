import * as z from 'zod'
import { Instant, KeyId, Sha256 } from './fields.ts'

/** Lists a pack's files, so that a changed, added or missing one is detected. */
export const EvidencePack = z.strictObject({
  type: z.literal('evidence_pack'),
  version: z.literal(1),
  key_id: KeyId,
  created_at: Instant,
  account_id: z.uuid().describe('By the checkpoint of the pack.'),
  record_id: z.uuid(),
  presented: z
    .strictObject({ subject_id: z.string(), matched_at: Instant })
    .optional()
    .describe('Of a purged record: this identifier was presented, and its HMAC equals the sealed one.'),
  files: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[A-Za-z\d][\w./-]*$/),
        bytes: z.int().min(0),
        sha256: Sha256,
      }),
    )
    .min(1)
    .describe('All but this one, by the bytes of their names.'),
})
export type EvidencePack = z.output<typeof EvidencePack>
