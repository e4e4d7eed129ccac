import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { Checkpoint } from '../../src/contract/documents/checkpoint.ts'
import { completeSize, entriesPerCheckpoint } from '../../src/evidence/dates.ts'
import { findKeyLogProblem, findKeysRoot, type KeyChain } from '../../src/evidence/key-chain.ts'
import { MerkleTree } from '../../src/evidence/merkle.ts'
import { readCheckpoint } from '../../src/evidence/signed.ts'
import { forEachAccount, partialMessage } from '../db/accounts.ts'
import { dbErrorCode, dbErrorKind } from '../db/errors.ts'
import { type Backdated, findCompleteTime, toBackdated } from './backdating.ts'
import {
  type CheckpointRow,
  findLastCheckpoint,
  findRoot,
  insertCheckpoint,
  type LeafRow,
  listLeaves,
  listUncoveredAccounts,
  type Placed,
  placeLeaves,
  readLastCheckpoint,
} from './queries.ts'
import { readKeys, type Signer } from './signer.ts'

const hint = 'see consentctl admin verify'

export interface Covered {
  readonly entries: number
  readonly checkpoints: number
}

export interface Log {
  readonly sql: Sql
  readonly signer: Signer
  readonly signal?: AbortSignal | undefined
  readonly onBackdated?: ((accountId: string, entries: readonly Backdated[]) => void) | undefined
}

/**
 * Can be stopped at any time and run on several nodes at once. Returns null if nothing is new. @throws Error naming an
 * account whose log cannot be continued, after the others are done
 */
export async function coverAll(log: Log): Promise<Covered | null> {
  let entries = 0
  let checkpoints = 0
  const { failures, isPartial } = await forEachAccount(log.sql, {
    signal: log.signal,
    list: (among, limit) => listUncoveredAccounts(log.sql, among, limit),
    work: async ({ account_id }) => {
      let isCovered = false
      for await (const appended of coverAccount(log, account_id)) {
        entries += appended
        checkpoints += 1
        isCovered = true
      }
      return isCovered
    },
  })
  const [failed] = failures
  if (failed) {
    const [accountId, error] = failed
    const cause = dbErrorCode(error) ?? error.message // messages of database errors quote rows
    throw new Error(`the log of the account ${accountId}: ${cause}`)
  }
  if (isPartial) throw new Error(partialMessage)
  return entries > 0 ? { entries, checkpoints } : null
}

/**
 * Places the entries that have no leaf, and signs checkpoints of all leaves. Yields the number of entries of each.
 * Backdated entries are appended too: their position shows when they were added.
 */
export async function* coverAccount(log: Log, accountId: string): AsyncGenerator<number> {
  const { sql } = log
  const end = await placeEntries(log, accountId)
  let complete: Date | null | undefined
  while (end && !log.signal?.aborted) {
    const { last, size } = await readLastCheckpoint(sql, accountId)
    const from = last?.tree_size ?? 0
    const leaves = await listLeaves(sql, accountId, { from, below: end.size }, entriesPerCheckpoint)
    if (leaves.length === 0) return
    const keys = await readKeys(sql, log.signer.keyId)
    const tree = await openTree(log, accountId, last, keys)
    if (size > from) throw new Error(`the checkpoint of ${size} leaves is missing; ${hint}`)
    complete ??= await findCompleteTime(sql, accountId, last, keys)
    const tiles = appendAll(tree, leaves)
    const next = await newCheckpoint(log.signer, accountId, { tree, tiles, last, keys, at: end.at })
    if (!(await tryAppend(sql, next))) return
    remember(log.signer, accountId, tree)
    reportBackdated(log, accountId, leaves, complete)
    yield leaves.length
    if (leaves.length < entriesPerCheckpoint) return
  }
}

/** Returns the roots of the tiles that are full now. @throws Error naming a missing leaf */
function appendAll(tree: MerkleTree, leaves: readonly LeafRow[]): Buffer {
  const tiles = leaves.map(({ leaf_index, hash }) => {
    if (leaf_index !== tree.size || !hash) throw new Error(`leaf ${tree.size} is missing; ${hint}`)
    return tree.append(hash)
  })
  return Buffer.concat(tiles.filter(tile => tile !== null))
}

/** In a statement. */
const entriesPerPlacing = 2000

const maxAttempts = 5

/**
 * Gives a leaf to each entry that has none: those of records first, then those of the account. Returns the size of the
 * log at a time of which it has every entry; or null if other nodes are placing all the time, or the signal is aborted.
 */
export async function placeEntries(
  { sql, signal }: Pick<Log, 'sql' | 'signal'>,
  accountId: string,
): Promise<{ readonly size: number; readonly at: Date } | null> {
  let after: Placed['last'] | undefined
  for (let attempt = 0; attempt < maxAttempts && !signal?.aborted; ) {
    const at = new Date() // before the read, so that no entry of its time is missing
    const result = await placeLeaves(sql, accountId, after, entriesPerPlacing).catch((error: unknown) => {
      if (!isOvertaken(error)) throw error
      return null
    })
    if (result) {
      const isFull = result.placed === entriesPerPlacing
      if (!isFull && !after) return { size: result.size, at }
      after = isFull && result.last?.[0] !== accountId ? result.last : undefined // at last from the first entry
    } else {
      attempt += 1
      await delay(Math.random() * 50 * attempt)
    }
  }
  return null
}

export const shortestIntervalMs = 1000

/** Does nothing if the newest checkpoint is less than a second old. */
export async function coverNow(log: Log, accountId: string): Promise<void> {
  const last = await findLastCheckpoint(log.sql, accountId)
  const age = Date.now() - (last?.created_at.getTime() ?? 0)
  if (age >= 0 && age < shortestIntervalMs) return
  await coverInRequest(log, accountId)
}

/** For the work of a request. */
export const requestMs = 4000

export async function coverInRequest(log: Log, accountId: string): Promise<void> {
  const signal = AbortSignal.timeout(requestMs)
  for await (const _ of coverAccount({ ...log, signal }, accountId));
}

function reportBackdated(log: Log, accountId: string, entries: readonly LeafRow[], checkpoint: Date | null): void {
  const found = entries.flatMap(entry => toBackdated(entry, checkpoint))
  if (found.length > 0) log.onBackdated?.(accountId, found)
}

const maxNamed = 100

export function backdatedMessage(entries: readonly Backdated[]): string {
  const ids = [...new Set(entries.map(({ consent_id }) => consent_id))]
  const more = ids.length > maxNamed ? `, and ${ids.length - maxNamed} more` : ''
  const named = ids.slice(0, maxNamed).join(', ') + more
  return `${entries.length} entries are dated before a checkpoint that was made without them: ${named}; ${hint}`
}

async function tryAppend(sql: Sql, next: CheckpointRow): Promise<boolean> {
  try {
    await insertCheckpoint(sql, next)
    return true
  } catch (error) {
    if (!isOvertaken(error)) throw error
    return false
  }
}

/** Another node was faster. */
function isOvertaken(error: unknown): boolean {
  return ['conflict', 'aborted'].includes(dbErrorKind(error) ?? '')
}

interface Root {
  readonly size: number
  readonly root: Buffer
}

const signedRoots = new WeakMap<Signer, Map<string, Root>>()

function remember(signer: Signer, accountId: string, { size, root }: Root): void {
  const roots = signedRoots.get(signer) ?? new Map<string, Root>()
  signedRoots.set(signer, roots.set(accountId, { size, root }))
}

/** @throws Error if the last checkpoint was changed, or the log lacks what this process signed */
async function openTree(
  { sql, signer }: Log,
  accountId: string,
  last: CheckpointRow | undefined,
  { keys, documents }: KeyChain,
): Promise<MerkleTree> {
  const own = signedRoots.get(signer)?.get(accountId)
  if (own && !(await findRoot(sql, accountId, own.size))?.equals(own.root))
    throw new Error(`the checkpoint of ${own.size} leaves, signed by this node, is missing; ${hint}`)
  if (!last) return new MerkleTree()
  const tree = new MerkleTree(last.tree_size, last.frontier)
  const { checkpoint, isSignedBy } = readCheckpoint(last.document)
  const { account_id, tree_size, root_hash, key_id } = checkpoint
  const isSame = account_id === accountId && tree_size === tree.size && root_hash === tree.root.toString('hex')
  const key = keys.get(key_id)?.publicKey // also of a compromised key: the next one continues the log
  if (!isSame || !key || !isSignedBy(key)) throw new Error(`its last checkpoint was changed; ${hint}`)
  const problem = findKeyLogProblem(documents, checkpoint)
  if (problem) throw new Error(`its last checkpoint: ${problem}; ${hint}`)
  return tree
}

interface Continued {
  readonly tree: MerkleTree
  readonly tiles: Buffer
  readonly last: CheckpointRow | undefined
  readonly keys: KeyChain
  readonly at: Date
}

/** @throws Error if the signer's key is not in the chain, or was revoked */
async function newCheckpoint(
  signer: Signer,
  accountId: string,
  { tree, tiles, last, keys: { keys, documents }, at: created_at }: Continued,
): Promise<CheckpointRow> {
  const { size: tree_size, frontier, root } = tree
  const key = keys.get(signer.keyId)
  const problem = key ? key.findProblem(created_at.toISOString()) : 'is not in the log of keys'
  if (problem) throw new Error(`the key ${signer.keyId} ${problem}; ${hint}`)
  const checkpoint: Omit<Checkpoint, 'key_id'> = {
    type: 'checkpoint',
    version: 1,
    account_id: accountId,
    tree_size,
    root_hash: root.toString('hex'),
    previous_size: last ? completeSize(readCheckpoint(last.document).checkpoint) : 0,
    created_at: created_at.toISOString(),
    keys_size: documents.length,
    keys_root: findKeysRoot(documents, documents.length)?.toString('hex') ?? '',
  }
  const document = await signer.sign(checkpoint)
  const from_size = last?.tree_size ?? 0
  return { account_id: accountId, tree_size, from_size, root_hash: root, frontier, tiles, document, created_at }
}
