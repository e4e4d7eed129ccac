import type { Sql } from 'postgres'
import type { ConsentReceipt } from '../../src/contract/documents/consent-receipt.ts'
import type { ConsistencyProof, InclusionProof, InclusionQuery } from '../../src/contract/index.ts'
import { leafHash, MerkleTree } from '../../src/evidence/merkle.ts'
import { isConsistent, rootOfInclusion } from '../../src/evidence/proofs.ts'
import { consistencyRanges, inclusionRanges, type Range } from '../../src/evidence/ranges.ts'
import { readCheckpoint } from '../../src/evidence/signed.ts'
import { Failure } from '../failure.ts'
import { needSignedTimes } from './backdating.ts'
import {
  findCheckpoint,
  findLastCheckpoint,
  findLeaf,
  findLogEntry,
  findRoot,
  findTimestamp,
  listSubtrees,
} from './queries.ts'

interface Deps {
  readonly sql: Sql
}

const noCheckpoint = 'There is no such checkpoint of the log, or not yet.'
const notInTree = 'There is no such entry in a log of that size.'
const noSize = 'The log does not have that size.'

/** Returns the newest checkpoint, optionally of a size or with a timestamp. @throws Failure `not_found` */
export async function getCheckpoint(
  { sql }: Deps,
  accountId: string,
  query: { readonly tree_size?: number | undefined; readonly timestamped?: boolean | undefined } = {},
): Promise<string> {
  const document = await findCheckpoint(sql, accountId, query)
  if (document === undefined) throw new Failure('not_found', noCheckpoint)
  return document
}

export async function getTimestamp({ sql }: Deps, accountId: string, size?: number): Promise<Buffer> {
  const token = await findTimestamp(sql, accountId, size)
  if (!token) throw new Failure('not_found', 'There is no such timestamp, or not yet.')
  return token
}

/** @throws Failure `not_found` for an entry not in the tree; `internal_error` if the log was tampered with */
export async function getInclusion({ sql }: Deps, accountId: string, query: InclusionQuery): Promise<InclusionProof> {
  const last = await findLastCheckpoint(sql, accountId)
  const size = query.tree_size ?? last?.tree_size ?? 0
  if (size > (last?.tree_size ?? 0)) throw new Failure('not_found', notInTree)
  const leaf = await findLeaf(sql, accountId, query, size)
  if (!leaf) throw new Failure('not_found', notInTree)
  const stored = size === last?.tree_size ? last.root_hash : await findRoot(sql, accountId, size)
  const { root, path } = await prove(sql, accountId, leaf, { size, root: stored })
  return {
    record_id: leaf.consent_id,
    version: leaf.version,
    leaf_index: leaf.leaf_index,
    leaf_hash: leafHash(leaf.hash).toString('hex'),
    tree_size: size,
    root_hash: root.toString('hex'),
    path,
  }
}

/**
 * Returns null if the log does not have the entry yet.
 * @throws Failure `internal_error` if the log was tampered with, or its newest checkpoint is not signed by a key that chains to
 * the anchor
 */
export async function findInclusion(
  sql: Sql,
  accountId: string,
  entry: { readonly record_id: string; readonly version: number; readonly hash: Buffer },
  anchor: string,
): Promise<ConsentReceipt['inclusion']> {
  const logged = await findLogEntry(sql, accountId, entry)
  if (!logged?.hash.equals(entry.hash)) throw tampered(accountId)
  const { leaf_index, hash } = logged
  if (leaf_index === null) return null
  const last = await findLastCheckpoint(sql, accountId) // after the entry, whose checkpoint is written with its place
  if (!last || leaf_index >= last.tree_size) throw tampered(accountId)
  await needSignedTimes(sql, accountId, [last.tree_size], anchor)
  const root = Buffer.from(readCheckpoint(last.document).checkpoint.root_hash, 'hex')
  const { path } = await prove(sql, accountId, { leaf_index, hash }, { size: last.tree_size, root })
  return { leaf_index, path, checkpoint: last.document }
}

async function prove(
  sql: Sql,
  accountId: string,
  { leaf_index: index, hash }: { readonly leaf_index: number; readonly hash: Buffer },
  { size, root: expected }: { readonly size: number; readonly root: Buffer | undefined },
): Promise<{ root: Buffer; path: string[] }> {
  const path = await hashRanges(sql, accountId, inclusionRanges(index, size))
  const root = rootOfInclusion({ leafHash: leafHash(hash), index, size, path })
  if (!root || (expected && !root.equals(expected))) throw tampered(accountId)
  return { root, path: path.map(node => node.toString('hex')) }
}

/** @throws Failure `not_found` for sizes that the log does not have; `internal_error` if the log was tampered with */
export async function getConsistency(
  { sql }: Deps,
  accountId: string,
  query: { readonly first: number; readonly second?: number | undefined },
): Promise<ConsistencyProof> {
  const last = await findLastCheckpoint(sql, accountId)
  const { first, second = last?.tree_size ?? 0 } = query
  if (first > second || second > (last?.tree_size ?? 0)) throw new Failure('not_found', noSize)
  const path = await hashRanges(sql, accountId, consistencyRanges(first, second))
  const [one, other] = await Promise.all([first, second].map(size => findRoot(sql, accountId, size)))
  if (one && other && !isConsistent({ first: { size: first, root: one }, second: { size: second, root: other }, path }))
    throw tampered(accountId)
  return { first, second, path: path.map(node => node.toString('hex')) }
}

function tampered(accountId: string): Failure {
  return new Failure('internal_error', `The log of the account ${accountId} does not have the root of its checkpoint.`)
}

const hashBytes = 32

/**
 * Returns the roots of subtrees that begin at a multiple of their width, rounded up to a power of two. A full left subtree
 * is in every frontier until its right sibling is full. For the others, the newest checkpoint inside them has most in its
 * frontier, so only later leaves are read: at most those of one checkpoint, for each of up to log2(size) subtrees.
 */
async function hashRanges(sql: Sql, accountId: string, ranges: readonly Range[]): Promise<Buffer[]> {
  const bounded = ranges.map(range => ({ ...range, until: findUntil(range) }))
  const rows = ranges.length === 0 ? [] : await listSubtrees(sql, accountId, bounded)
  return rows.map(({ tree_size, frontier, leaves }, index) => {
    const { from, to } = ranges[index] as Range
    const covered = tree_size === null ? 0 : Math.min(tree_size, to) - from
    const first = countOnes(from) * hashBytes // skips the roots of subtrees to the left
    const roots = frontier?.subarray(first, first + countOnes(covered) * hashBytes) ?? Buffer.alloc(0)
    const rest = leaves ?? Buffer.alloc(0)
    if (rest.length !== (to - from - covered) * hashBytes || roots.length !== countOnes(covered) * hashBytes)
      throw tampered(accountId)
    const tree = new MerkleTree(covered, roots)
    for (let at = 0; at < rest.length; at += hashBytes) tree.append(rest.subarray(at, at + hashBytes))
    return tree.root
  })
}

/**
 * Returns the largest checkpoint size whose frontier contains the subtree, or its beginning, separately. Once a right
 * subtree is full, the frontier has only the common root with its left sibling.
 */
function findUntil({ from, to }: Range): number {
  let width = 1
  while (width < to - from) width *= 2
  if (width > to - from) return to
  return (from / width) % 2 === 1 ? to - 1 : to + width - 1
}

function countOnes(size: number): number {
  return size.toString(2).replaceAll('0', '').length
}
