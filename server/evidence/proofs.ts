import type { Sql } from 'postgres'
import type { ConsentReceipt } from '../../src/contract/documents/consent-receipt.ts'
import type { CheckpointQuery, ConsistencyProof, InclusionProof, InclusionQuery } from '../../src/contract/index.ts'
import { leafHash, MerkleTree } from '../../src/evidence/merkle.ts'
import {
  type Consistency,
  consistencyRanges,
  inclusionRanges,
  isConsistent,
  type Range,
  rootOfInclusion,
} from '../../src/evidence/proofs.ts'
import { type SignedCheckpoint, toSide } from '../../src/evidence/signed.ts'
import { Failure } from '../failure.ts'
import type { Place } from './backdating.ts'
import { findCheckpoint, findLastCheckpoint, findLeaf, findRoot, findTimestamp, listSubtrees } from './queries.ts'

interface Deps {
  readonly sql: Sql
}

const noCheckpoint = 'There is no such checkpoint of the log, or not yet.'
const notInTree = 'There is no such entry in a log of that size.'
const noSize = 'The log does not have that size.'

/**
 * Returns the newest by default.
 * @throws Failure `not_found`
 */
export async function getCheckpoint({ sql }: Deps, accountId: string, query: CheckpointQuery = {}): Promise<string> {
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
 * Returns the place of the last entry, whose hash is `head`, or null before it is logged.
 * @throws Failure `internal_error` if the log was tampered with
 */
export async function proveRecord(
  sql: Sql,
  accountId: string,
  places: readonly Place[],
  head: Buffer,
): Promise<ConsentReceipt['inclusion']> {
  if (!places.at(-1)?.hash?.equals(head)) throw tampered(accountId)
  const logged = places.filter(({ leaf_index }) => leaf_index !== null)
  if (logged.some((place, index) => place !== places[index])) throw tampered(accountId)
  let inclusion: ConsentReceipt['inclusion'] = null
  for (const [index, { hash, leaf_index, size, after, before }] of logged.entries()) {
    if (!hash || leaf_index === null || !after) throw tampered(accountId)
    if (logged[index + 1]?.size === size) continue // the hash of the next entry covers this one
    const { path } = await prove(sql, accountId, { leaf_index, hash }, toSide(after.checkpoint))
    if (index < places.length - 1) continue
    inclusion = {
      leaf_index,
      path,
      checkpoint: after.text,
      timestamp: await readTimestamp(sql, accountId, after),
      previous: before && {
        checkpoint: before.text,
        timestamp: await readTimestamp(sql, accountId, before),
        path: await proveGrowth(sql, accountId, toSide(before.checkpoint), toSide(after.checkpoint)),
      },
    }
  }
  return inclusion
}

async function readTimestamp(sql: Sql, accountId: string, { checkpoint }: SignedCheckpoint): Promise<string | null> {
  return (await findTimestamp(sql, accountId, checkpoint.tree_size))?.toString('base64') ?? null
}

interface Side {
  readonly size: number
  readonly root: Buffer | undefined
}

async function prove(
  sql: Sql,
  accountId: string,
  { leaf_index: index, hash }: { readonly leaf_index: number; readonly hash: Buffer },
  { size, root: expected }: Side,
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
  const [one, other] = await Promise.all([first, second].map(size => findRoot(sql, accountId, size)))
  const sides = [
    { size: first, root: one },
    { size: second, root: other },
  ] as const
  return { first, second, path: await proveGrowth(sql, accountId, ...sides) }
}

async function proveGrowth(sql: Sql, accountId: string, first: Side, second: Side): Promise<string[]> {
  const path = await hashRanges(sql, accountId, consistencyRanges(first.size, second.size))
  if (first.root && second.root && !isConsistent({ first, second, path } as Consistency)) throw tampered(accountId)
  return path.map(node => node.toString('hex'))
}

function tampered(accountId: string): Failure {
  return new Failure('internal_error', `The log of the account ${accountId} does not have the root of its checkpoint.`)
}

const hashBytes = 32

/**
 * Returns the roots of subtrees that begin at a multiple of their width, rounded up to a power of two. A full left
 * subtree is in every frontier until its right sibling is full. For the others, the newest checkpoint inside has most
 * in its frontier: leaves of one checkpoint are read, for each of up to log2(size) subtrees.
 */
async function hashRanges(sql: Sql, accountId: string, ranges: readonly Range[]): Promise<Buffer[]> {
  const bounded = ranges.map(range => ({ ...range, until: findUntil(range) }))
  const rows = ranges.length === 0 ? [] : await listSubtrees(sql, accountId, bounded)
  return rows.map(({ tree_size, frontier, leaves }, index) => {
    const { from, to } = ranges[index] as Range
    const covered = tree_size === null ? 0 : Math.min(tree_size, to) - from
    const first = countOnes(from) * hashBytes // skips subtrees to the left
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
 * Returns the largest checkpoint size whose frontier has the subtree, or its beginning. Once a right subtree is full,
 * only the common root remains.
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
