import { readCheckpoint, type SignedCheckpoint } from '../../src/evidence/checkpoint.ts'
import type { CheckpointRow } from '../evidence/log-queries.ts'
import type { Keys } from '../evidence/published.ts'

/** What is wrong with a checkpoint's signature; null where nothing is. */
export function signatureProblem({ checkpoint, isSignedBy }: SignedCheckpoint, keys: Keys): string | null {
  const key = keys.get(checkpoint.key_id)
  if (!key) return 'it is signed by a key that the database does not know'
  return isSignedBy(key) ? null : 'its signature is not valid'
}

/** What is wrong with a stored checkpoint by itself; null where nothing is. */
export function storedProblem(row: CheckpointRow, keys: Keys): string | null {
  if (Object.values(row).includes(null)) return 'something of it is missing'
  const signed = read(row.document)
  if (!signed) return 'its document is none'
  const { account_id, tree_size, root_hash, created_at } = signed.checkpoint
  const isRow =
    account_id === row.account_id &&
    tree_size === row.tree_size &&
    root_hash === row.root_hash.toString('hex') &&
    Date.parse(created_at) === row.created_at.getTime()
  return isRow ? signatureProblem(signed, keys) : 'its columns are not what its document says'
}

function read(document: string): SignedCheckpoint | null {
  try {
    return readCheckpoint(document)
  } catch {
    return null
  }
}
