import * as z from 'zod'
import { Instant, Uuid } from '../values.ts'

/**
 * What a signed checkpoint says: that the first `tree_size` entries of an account's log have this root (RFC 9162 section
 * 2.1.1); the data of a leaf are the 32 bytes of an audit entry's hash.
 */
export const Checkpoint = z.strictObject({
  type: z.literal('checkpoint'),
  version: z.literal(1),
  account_id: Uuid,
  tree_size: z.int().min(1),
  /** SHA-256, in hexadecimal digits. */
  root_hash: z.string().regex(/^[\da-f]{64}$/),
  created_at: Instant,
  /** The thumbprint of the key that it is signed with (RFC 7638). */
  key_id: z.string().regex(/^[\w-]{43}$/),
})
export type Checkpoint = z.output<typeof Checkpoint>
