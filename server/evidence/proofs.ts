import type { Sql } from 'postgres'
import type { ConsentReceipt } from '../../src/contract/documents/consent-receipt.ts'
import type { CheckpointQuery, ConsistencyProof, InclusionProof, InclusionQuery } from '../../src/contract/index.ts'
import { leafHash, MerkleTree, tileWidth } from '../../src/evidence/merkle.ts'
import {
  type Consistency,
  consistencyRanges,
  inclusionRanges,
  isConsistent,
  type Range,
  rootOfInclusion,
} from '../../src/evidence/proofs.ts'
import { type SignedCheckpoint, toSide } from '../../src/evidence/signed.ts'
import type { Reach } from '../db/reach.ts'
import { Failure } from '../failure.ts'
import type { Place } from './backdating.ts'
import {
  findCheckpoint,
  findLeaf,
  findTimestamp,
  findTree,
  type Leaf,
  listSubtrees,
  listTimestamps,
  type SubtreeRow,
} from './queries.ts'

interface Deps {
  readonly sql: Sql
}

const noCheckpoint = 'There is no such checkpoint of the log, at least not yet.'
const notInTree = 'There is no such entry in a log of that size.'
const noSize = 'The log does not have that size.'

/**
 * Returns the newest by default.
 * @throws Failure `not_found`
 */
export async function getCheckpoint({ sql }: Deps, reach: Reach, query: CheckpointQuery = {}): Promise<string> {
  const document = await findCheckpoint(sql, reach, query)
  if (document === undefined) throw new Failure('not_found', noCheckpoint)
  return document
}

export async function getTimestamp({ sql }: Deps, accountId: string, size?: number): Promise<Buffer> {
  const token = await findTimestamp(sql, accountId, size)
  if (!token) throw new Failure('not_found', 'There is no such timestamp, at least not yet.')
  return token
}

/** @throws Failure `not_found` for an entry not in the tree; `internal_error` if the log was tampered with */
export async function getInclusion({ sql }: Deps, reach: Reach, query: InclusionQuery): Promise<InclusionProof> {
  const { accountId } = reach
  const leaf = await findLeaf(sql, reach, query)
  if (!leaf) throw new Failure('not_found', notInTree)
  const [proof] = await proveLeaves(sql, accountId, [leaf], leaf)
  return proof as InclusionProof
}

/** @throws Failure `internal_error` if the log was tampered with */
export async function proveLeaves(
  sql: Sql,
  accountId: string,
  leaves: readonly Leaf[],
  side: Side,
  pause?: Pause,
): Promise<InclusionProof[]> {
  const wanted = leaves.map(leaf => ({ ...leaf, side }))
  const proved = await prove(sql, accountId, wanted, pause)
  return wanted.map(({ consent_id, version, leaf_index, hash }, index) => {
    const { root, path } = proved[index] as Proved
    return {
      record_id: consent_id,
      version,
      leaf_index,
      leaf_hash: leafHash(hash).toString('hex'),
      tree_size: side.size,
      root_hash: root.toString('hex'),
      path,
    }
  })
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
  const logged = places.filter(({ size }) => size !== null)
  if (logged.some((place, index) => place !== places[index])) throw tampered(accountId)
  const wanted = logged.map(({ hash, leaf_index, size, after, before }) => {
    if (!hash || leaf_index === null || !after) throw tampered(accountId)
    return { hash, leaf_index, size, after, before, side: toSide(after.checkpoint) }
  })
  const last = wanted.at(-1)
  // The next entry's hash covers an entry of the same checkpoint.
  const ends = wanted.filter(({ size }, index) => wanted[index + 1]?.size !== size)
  const { path } = (await prove(sql, accountId, ends)).at(-1) ?? {}
  if (!last || !path || wanted.length < places.length) return null
  const { leaf_index, after, before, side } = last
  const sizes = [after, before].flatMap(signed => signed?.checkpoint.tree_size ?? [])
  const stamps = await listTimestamps(sql, accountId, sizes)
  const stampOf = ({ checkpoint }: SignedCheckpoint) => stamps.get(checkpoint.tree_size)?.toString('base64') ?? null
  return {
    leaf_index,
    path,
    checkpoint: after.text,
    timestamp: stampOf(after),
    previous: before && {
      checkpoint: before.text,
      timestamp: stampOf(before),
      path: (await proveGrowths(sql, accountId, [toSide(before.checkpoint)], side))[0] ?? [],
    },
  }
}

interface Side {
  readonly size: number
  readonly root: Buffer | null
}

interface Proved {
  readonly root: Buffer
  readonly path: string[]
}

async function prove(
  sql: Sql,
  accountId: string,
  leaves: readonly (Pick<Leaf, 'leaf_index' | 'hash'> & { readonly side: Side })[],
  pause?: Pause,
): Promise<Proved[]> {
  const ranges = leaves.map(({ leaf_index, side }) => inclusionRanges(leaf_index, side.size))
  const paths = await hashPaths(sql, accountId, ranges, pause)
  return leaves.map(({ leaf_index: index, hash, side: { size, root: expected } }, at) => {
    const path = paths[at] ?? []
    const root = rootOfInclusion({ leafHash: leafHash(hash), index, size, path })
    if (!root || (expected && !root.equals(expected))) throw tampered(accountId)
    return { root, path: path.map(node => node.toString('hex')) }
  })
}

/** @throws Failure `not_found` for sizes that the log does not have; `internal_error` if the log was tampered with */
export async function getConsistency(
  { sql }: Deps,
  accountId: string,
  query: { readonly first: number; readonly second?: number | undefined },
): Promise<ConsistencyProof> {
  const [first, second] = await Promise.all([query.first, query.second].map(size => findTree(sql, accountId, size)))
  if (!first || !second || first.size > second.size) throw new Failure('not_found', noSize)
  const [path = []] = await proveGrowths(sql, accountId, [first], second)
  return { first: first.size, second: second.size, path }
}

/**
 * Returns the path from each of the first sides to the second.
 * @throws Failure `internal_error` if the log was tampered with
 */
export async function proveGrowths(
  sql: Sql,
  accountId: string,
  firsts: readonly Side[],
  second: Side,
  pause?: Pause,
): Promise<string[][]> {
  const ranges = firsts.map(({ size }) => consistencyRanges(size, second.size))
  const paths = await hashPaths(sql, accountId, ranges, pause)
  return firsts.map((first, at) => {
    const path = paths[at] ?? []
    if (first.root && second.root && !isConsistent({ first, second, path } as Consistency)) throw tampered(accountId)
    return path.map(node => node.toString('hex'))
  })
}

function tampered(accountId: string): Failure {
  return new Failure('internal_error', `The log of the account ${accountId} has a different root from its checkpoint.`)
}

/** Yields to other requests; may throw to stop the work. */
export type Pause = () => Promise<unknown>

/** Each may contain the leaves of a tile. */
const rangesPerQuery = 100

/** Reads shared parts of paths once. */
async function hashPaths(
  sql: Sql,
  accountId: string,
  paths: readonly (readonly Range[])[],
  pause?: Pause,
): Promise<Buffer[][]> {
  const nameOf = ({ from, to }: Range) => `${from} ${to}`
  const ranges = [...new Map(paths.flat().map(range => [nameOf(range), range])).values()]
  const hashes = new Map<string, Buffer>()
  for (let at = 0; at < ranges.length; at += rangesPerQuery) {
    const part = ranges.slice(at, at + rangesPerQuery)
    await pause?.()
    const found = await hashRanges(sql, accountId, part)
    for (const [index, range] of part.entries()) hashes.set(nameOf(range), found[index] as Buffer)
  }
  return paths.map(path => path.map(range => hashes.get(nameOf(range)) as Buffer))
}

const hashBytes = 32

/**
 * Returns the roots of subtrees that begin at a multiple of their width, rounded up to a power of two. The last
 * checkpoint inside one has its beginning, the next has the tiles up to its end. Only leaves of a partial tile are read.
 */
async function hashRanges(sql: Sql, accountId: string, ranges: readonly Range[]): Promise<Buffer[]> {
  const bounded = ranges.map(range => ({ ...range, until: findUntil(range) }))
  const rows = await listSubtrees(sql, accountId, bounded)
  return rows.map((row, index) => hashSubtree(accountId, ranges[index] as Range, row))
}

function hashSubtree(accountId: string, { from, to }: Range, { tree_size, ...row }: SubtreeRow): Buffer {
  const start = Math.max(from, tree_size)
  const [first, end] = [Math.floor(start / tileWidth), Math.floor(to / tileWidth)]
  const hasTiles = first < end && from % tileWidth === 0
  const covered = (hasTiles ? first * tileWidth : start) - from
  const skipped = countOnes(from) // subtrees to the left
  const tree = new MerkleTree(covered, hashesAt(accountId, row.frontier, skipped, countOnes(covered)))
  const stored = Math.floor(tree_size / tileWidth)
  if (hasTiles)
    for (let tile = first; tile < end; tile += 1) tree.appendTile(hashesAt(accountId, row.tiles, tile - stored, 1))
  const rest = to - from - tree.size
  if ((row.rest?.length ?? 0) !== rest * hashBytes) throw tampered(accountId)
  for (let leaf = 0; leaf < rest; leaf += 1) tree.append(hashesAt(accountId, row.rest, leaf, 1))
  return tree.root
}

function hashesAt(accountId: string, hashes: Buffer | null, index: number, count: number): Buffer {
  const found = hashes?.subarray(index * hashBytes, (index + count) * hashBytes) ?? Buffer.alloc(0)
  if (found.length !== count * hashBytes) throw tampered(accountId)
  return found
}

/**
 * Returns the largest size at which a frontier has the subtree, or its beginning: once a full subtree ends, only its
 * root may remain, or that of a larger one.
 */
function findUntil({ from, to }: Range): number {
  return countOnes(to - from) === 1 ? to - 1 : to
}

function countOnes(size: number): number {
  return size.toString(2).replaceAll('0', '').length
}
