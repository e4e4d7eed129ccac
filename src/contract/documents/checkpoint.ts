import * as z from 'zod'
import { Instant, KeyId, Sha256 } from './fields.ts'

/**
 * Merkle root of the first `tree_size` entries of an account's log (RFC 9162 section 2.1.1). A leaf is the 32-byte hash
 * of an audit entry. Names the previous checkpoint and covers the log of keys.
 */
export const Checkpoint = z
  .strictObject({
    type: z.literal('checkpoint'),
    version: z.literal(1),
    account_id: z.uuid(),
    tree_size: z.int().min(1).describe('How many entries of the log, from its first, it covers.'),
    root_hash: Sha256.describe('Of the Merkle tree of those entries (RFC 9162), whose leaves are their hashes.'),
    created_at: Instant,
    previous_size: z
      .int()
      .min(0)
      .describe(
        'The tree_size of the last checkpoint before it that had every entry of its time; 0 if there was none.',
      ),
    keys_size: z.int().min(1).describe('How many statements and revocations of signing keys there were.'),
    keys_root: Sha256.describe(
      'Of the Merkle tree (RFC 9162) whose leaves are the texts of those documents, in order.',
    ),
    key_id: KeyId,
  })
  .refine(({ previous_size, tree_size }) => previous_size < tree_size, {
    path: ['previous_size'],
    message: 'must be below tree_size',
  })
export type Checkpoint = z.output<typeof Checkpoint>
