import type { Sql } from 'postgres'
import type { Checkpoint } from '../../src/contract/documents/checkpoint.ts'
import type { MerkleTree } from '../../src/evidence/merkle.ts'
import { dbErrorKind } from '../db/errors.ts'
import { advice, remember, treeBefore } from './before.ts'
import {
  type CheckpointRow,
  findAccountWithNews,
  findLastCheckpoint,
  insertCheckpoint,
  listNewEntries,
  type NewEntry,
} from './queries.ts'
import type { Signer } from './signer.ts'

/** Entries that the log takes in one statement, which then ends with a checkpoint. */
const batch = 2000

export interface Covered {
  /** How many entries were taken. */
  readonly entries: number
  readonly checkpoints: number
}

export interface Log {
  readonly sql: Sql
  readonly signer: Signer
  readonly signal?: AbortSignal | undefined
}

/**
 * Takes all new entries into their accounts' logs, and signs what they have become. It may be stopped at any moment, and
 * run on several nodes at once: what one does not do another does, or the same one the next time. Null where nothing is
 * new; an account whose log cannot go on is told in an Error when the others are done.
 */
export async function coverAll(log: Log): Promise<Covered | null> {
  let [entries, checkpoints] = [0, 0]
  const failures: Error[] = []
  let account = await findAccountWithNews(log.sql, null)
  while (account !== undefined && !log.signal?.aborted) {
    try {
      for await (const taken of coverAccount(log, account)) {
        entries += taken
        checkpoints += 1
      }
    } catch (error) {
      if (['lost', 'unavailable'].includes(dbErrorKind(error) ?? '')) throw error
      failures.push(new Error(`the log of the account ${account}: ${(error as Error).message}`))
    }
    account = await findAccountWithNews(log.sql, account)
  }
  if (failures[0]) throw failures[0]
  return entries > 0 ? { entries, checkpoints } : null
}

/** Takes the new entries of one account, and yields how many after each batch. */
export async function* coverAccount(log: Log, accountId: string): AsyncGenerator<number> {
  let after: NewEntry | undefined
  while (!log.signal?.aborted) {
    const last = await findLastCheckpoint(log.sql, accountId)
    const entries = await listNewEntries(log.sql, accountId, after, batch)
    if (entries.length === 0) return
    const tree = await treeBefore(log.sql, log.signer, accountId, last)
    for (const { hash } of entries) tree.append(hash)
    try {
      await insertCheckpoint(log.sql, signed(log.signer, accountId, tree, last), entries)
    } catch (error) {
      if (!['conflict', 'aborted'].includes(dbErrorKind(error) ?? '')) throw error
      const present = await findLastCheckpoint(log.sql, accountId)
      if (present?.tree_size !== last?.tree_size || dbErrorKind(error) === 'aborted') return // another node is at it
      throw new Error(`it has places behind its last checkpoint; ${advice}`)
    }
    remember(log.signer, accountId, tree)
    yield entries.length
    if (entries.length < batch) return
    after = entries.at(-1)
  }
}

function signed(
  signer: Signer,
  accountId: string,
  tree: MerkleTree,
  last: CheckpointRow | undefined,
): CheckpointRow {
  const [at, root] = [new Date(), tree.root]
  const checkpoint: Omit<Checkpoint, 'key_id'> = {
    type: 'checkpoint',
    version: 1,
    account_id: accountId,
    tree_size: tree.size,
    root_hash: root.toString('hex'),
    created_at: at.toISOString(),
  }
  const document = signer.sign(checkpoint)
  const { size: tree_size, frontier } = tree
  const from_size = last?.tree_size ?? 0
  return { account_id: accountId, tree_size, from_size, root_hash: root, frontier, document, created_at: at }
}
