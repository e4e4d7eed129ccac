import type { Sql } from 'postgres'
import { MerkleTree } from '../../src/evidence/merkle.ts'
import { readCheckpoint } from '../../src/evidence/signed.ts'
import { type CheckpointRow, findRoot } from './queries.ts'
import { readKeys, type Signer } from './signer.ts'

export const advice = 'see consentctl admin verify'

interface Root {
  readonly size: number
  readonly root: Buffer
}

/** The last root of each account that this node has signed or gone on from, for as long as it has its signer. */
const remembered = new WeakMap<Signer, Map<string, Root>>()

/**
 * The tree to go on from. What its last checkpoint does not say any more, under a signature that is valid, is not signed
 * again; nor a log that is no longer the one that this node has signed itself. Throws an Error.
 */
export async function treeBefore(
  sql: Sql,
  signer: Signer,
  accountId: string,
  last: CheckpointRow | undefined,
): Promise<MerkleTree> {
  const own = remembered.get(signer)?.get(accountId)
  if (own && !(await findRoot(sql, accountId, own.size))?.equals(own.root)) {
    throw new Error(`the checkpoint of ${own.size} leaves, which this node has signed, is gone; ${advice}`)
  }
  if (!last) return new MerkleTree()
  const tree = new MerkleTree(last.tree_size, last.frontier)
  const { checkpoint, isSignedBy } = readCheckpoint(last.document)
  const { account_id, tree_size, root_hash, key_id } = checkpoint
  const isTree =
    account_id === accountId && tree_size === tree.size && root_hash === tree.root.toString('hex')
  const key = key_id === signer.keyId ? signer.publicKey : (await readKeys(sql)).keys.get(key_id)
  if (!isTree || !key || !isSignedBy(key)) throw new Error(`its last checkpoint was changed; ${advice}`)
  return tree
}

/** Keeps in mind what a log has become. */
export function remember(signer: Signer, accountId: string, { size, root }: Root): void {
  const own = remembered.get(signer) ?? new Map<string, Root>()
  remembered.set(signer, own.set(accountId, { size, root }))
}
