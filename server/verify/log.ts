import type { Sql } from 'postgres'
import { completeSize, describeBackdating } from '../../src/evidence/dates.ts'
import { findCheckpointProblem, findKeyLogProblem, type KeyChain } from '../../src/evidence/key-chain.ts'
import { MerkleTree } from '../../src/evidence/merkle.ts'
import type { SignedCheckpoint } from '../../src/evidence/signed.ts'
import { type Backdated, listBackdated, toBackdated, tryReadCheckpoint } from '../evidence/backdating.ts'
import { type CheckpointRow, type LeafRow, listLeaves, readLastCheckpoint } from '../evidence/queries.ts'
import { listCheckpoints, listMisplaced, listUnindexed } from './queries.ts'
import { type Found, pages, reading, type Work } from './work.ts'

interface AccountLog {
  readonly accountId: string
  readonly keys: KeyChain
  readonly kept: readonly SignedCheckpoint[]
  readonly withTimes: boolean
}

const rowsPerPage = 200

/** Verifies that every leaf is covered, and every checkpoint signed and the root of its leaves. */
export async function* verifyLog(work: Work, log: AccountLog): AsyncGenerator<readonly Found[]> {
  const { sql, signal, inspected } = work
  const { accountId } = log
  const { last: newest, size: expected } = await reading(() => readLastCheckpoint(sql, accountId))
  const size = newest?.tree_size ?? 0
  if (expected < 0) yield [{ problem: 'changed', detail: 'checkpoint_size of the account was changed' }]
  if (expected > size) yield [{ problem: 'lost', detail: `the newest checkpoint, of ${expected} leaves, is missing` }]
  const verifier = new LogVerifier(sql, log, size)
  const kept = log.kept.toSorted((one, other) => one.checkpoint.tree_size - other.checkpoint.tree_size)
  const stored = pages<CheckpointRow>(rowsPerPage, last =>
    reading(() => listCheckpoints(sql, accountId, { after: last?.tree_size ?? 0, upTo: size }, rowsPerPage)),
  )
  for await (const page of stored)
    for (const row of page) {
      signal.throwIfAborted()
      while (kept[0] && kept[0].checkpoint.tree_size <= row.tree_size)
        yield await verifier.verifyKept(kept.shift() as SignedCheckpoint)
      inspected.checkpoints += 1
      yield await verifier.verifyStored(row)
    }
  yield await verifier.findUnindexed()
  const { before } = verifier
  if (log.withTimes && before)
    for await (const page of pages<Backdated>(rowsPerPage, last =>
      reading(() => listBackdated(sql, accountId, { checkpoint: before, size }, last, rowsPerPage)),
    )) {
      signal.throwIfAborted()
      yield page.map(describe)
    }
  const misplaced = await reading(() => listMisplaced(sql, accountId, rowsPerPage))
  yield misplaced.map(({ leaf_index, consent_id, version }): Found => {
    return { consent_id, version, problem: 'forged', detail: `the log does not reach its leaf ${leaf_index}` }
  })
  const [larger] = kept
  if (larger) yield [verifier.shortened(larger)]
}

function describe({ consent_id, version, ...entry }: Backdated): Found {
  return { consent_id, version, problem: 'forged', detail: describeBackdating(entry) }
}

class LogVerifier {
  readonly #sql: Sql
  readonly #log: AccountLog
  readonly #pages: AsyncGenerator<readonly LeafRow[], undefined>
  /** The last page read, possibly with leaves of later checkpoints. */
  #page: readonly LeafRow[] = []
  #position = 0
  readonly #tree = new MerkleTree()
  /** Roots of those that became full since the last stored checkpoint. */
  readonly #tiles: Buffer[] = []
  #covered = 0
  #next = 0
  #missing = 0
  #missingUntil = new Date(0)
  #complete = 0
  /** Signed time of the last complete checkpoint: new entries must be younger. */
  before: Date | null = null
  #unknownRoot: string | null = null
  /** One change invalidates all later checkpoints, so only the first of each kind is reported. */
  readonly #reported = new Set<string>()

  constructor(sql: Sql, log: AccountLog, size: number) {
    this.#sql = sql
    this.#log = log
    this.#pages = pages(leavesPerPage, last => {
      const range = { from: last ? last.leaf_index + 1 : 0, below: size }
      return reading(() => listLeaves(sql, log.accountId, range, leavesPerPage))
    })
  }

  async verifyKept(signed: SignedCheckpoint): Promise<Found[]> {
    const { root_hash, tree_size, created_at } = signed.checkpoint
    const found = await this.#readLeaves(tree_size, new Date(created_at))
    const problem =
      this.#unknownRoot ??
      findProofProblem(signed, this.#log.keys) ??
      this.#findRootProblem(Buffer.from(root_hash, 'hex'))
    this.#setBefore(signed)
    return [...found, ...this.#findOnce('the kept checkpoint', tree_size, problem)]
  }

  async verifyStored(row: CheckpointRow): Promise<Found[]> {
    const found = await this.#readLeaves(row.tree_size, row.created_at)
    const tiles = Buffer.concat(this.#tiles.splice(0))
    const signed = tryReadCheckpoint(row.document)
    const problem =
      findRowProblem(row, signed, this.#log.keys) ??
      findMissing(row.from_size, this.#covered) ??
      findMissing(signed ? signed.checkpoint.previous_size : 0, this.#complete) ??
      this.#findRootProblem(row.root_hash) ??
      this.#findNodesProblem(row, tiles)
    this.#covered = row.tree_size
    if (signed?.checkpoint.tree_size === row.tree_size) {
      this.#complete = completeSize(signed.checkpoint)
      this.#setBefore(signed)
    }
    return [...found, ...this.#findOnce('the checkpoint', row.tree_size, problem)]
  }

  #findOnce(what: string, size: number, problem: string | null): Found[] {
    if (problem === null || this.#reported.has(what)) return []
    this.#reported.add(what)
    return [{ problem: 'changed', detail: `${what} of ${size} leaves: ${problem}` }]
  }

  #setBefore(signed: SignedCheckpoint): void {
    const { account_id, tree_size, created_at, key_id } = signed.checkpoint
    const key = this.#log.keys.keys.get(key_id)?.publicKey
    const isOwn = account_id === this.#log.accountId && key && signed.isSignedBy(key)
    if (isOwn && completeSize(signed.checkpoint) === tree_size) this.before = new Date(created_at)
  }

  shortened({ checkpoint: { tree_size } }: SignedCheckpoint): Found {
    const detail = `the log ends at ${this.#covered} leaves, before the kept checkpoint of ${tree_size}`
    return { problem: 'shortened', detail }
  }

  /**
   * Names entries without a leaf, unless they outnumber the missing leaves: a slow transaction's entry may still wait
   * for one.
   */
  async findUnindexed(): Promise<Found[]> {
    const limit = Math.min(this.#missing, rowsPerPage)
    if (limit === 0) return []
    const entries = await reading(() => listUnindexed(this.#sql, this.#log.accountId, this.#missingUntil, limit + 1))
    if (entries.length > limit) return []
    return entries.map(entry => ({ ...entry, problem: 'changed', detail: 'has no leaf in the log' }))
  }

  async #readLeaves(size: number, until: Date): Promise<Found[]> {
    const findings: Found[] = []
    while (this.#next < size) {
      const next = this.#page[this.#position] ?? (await this.#readPage())
      const leaf = next && next.leaf_index < size ? next : undefined
      const end = leaf?.leaf_index ?? size
      if (end > this.#next) {
        this.#unknownRoot = `leaf ${this.#next} is missing`
        this.#missing += end - this.#next
        this.#missingUntil = until
        const isOne = end === this.#next + 1
        const leaves = isOne ? `leaf ${this.#next} of the log is` : `leaves ${this.#next} to ${end - 1} of the log are`
        findings.push({ problem: 'lost', detail: `${leaves} missing` })
      }
      if (leaf) findings.push(...this.#append(leaf))
      this.#next = leaf ? end + 1 : size
    }
    return findings
  }

  async #readPage(): Promise<LeafRow | undefined> {
    this.#page = (await this.#pages.next()).value ?? []
    this.#position = 0
    return this.#page[0]
  }

  #append({ hash, consent_id, version, at }: LeafRow): Found[] {
    this.#position += 1
    const tile = this.#unknownRoot === null ? this.#tree.append(hash ?? Buffer.alloc(0)) : null
    if (tile) this.#tiles.push(tile)
    return toBackdated({ consent_id, version, at }, this.#log.withTimes ? this.before : null).map(describe)
  }

  #findRootProblem(root: Buffer): string | null {
    if (this.#unknownRoot !== null || root.equals(this.#tree.root)) return null
    return 'its root is not the root of the log'
  }

  #findNodesProblem(row: CheckpointRow, tiles: Buffer): string | null {
    if (this.#unknownRoot !== null) return null
    if (!row.frontier.equals(this.#tree.frontier)) return 'its frontier was changed'
    return row.tiles.equals(tiles) ? null : 'its tiles were changed'
  }
}

const leavesPerPage = 1000

function findProofProblem(signed: SignedCheckpoint, { keys, documents }: KeyChain): string | null {
  const problem = findCheckpointProblem(signed, keys)
  return problem ? `it ${problem}` : findKeyLogProblem(documents, signed.checkpoint)
}

function findMissing(size: number, before: number): string | null {
  return size === before ? null : `the checkpoint of ${size} leaves before it is missing`
}

function findRowProblem(row: CheckpointRow, signed: SignedCheckpoint | null, keys: KeyChain): string | null {
  if (Object.values(row).includes(null)) return 'a column is null'
  if (!signed) return 'its document is not a signed checkpoint'
  const { account_id, tree_size, root_hash, created_at } = signed.checkpoint
  const isSame =
    account_id === row.account_id &&
    tree_size === row.tree_size &&
    root_hash === row.root_hash.toString('hex') &&
    Date.parse(created_at) === row.created_at.getTime()
  return isSame ? findProofProblem(signed, keys) : 'its columns do not match its document'
}
