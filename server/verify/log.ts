import type { Sql } from 'postgres'
import type { DatabaseFinding, Problem } from '../../src/contract/index.ts'
import { completeSize, describeBackdating, isBackdated } from '../../src/evidence/dates.ts'
import { findCheckpointProblem, findKeyLogProblem, type KeyChain } from '../../src/evidence/key-chain.ts'
import { MerkleTree } from '../../src/evidence/merkle.ts'
import type { SignedCheckpoint } from '../../src/evidence/signed.ts'
import { type Backdated, listBackdated, tryReadCheckpoint } from '../evidence/backdating.ts'
import { type CheckpointRow, findLastCheckpoint } from '../evidence/queries.ts'
import {
  type DatedLeafRow,
  type LeafRow,
  listCheckpoints,
  listLeaves,
  listMisplaced,
  listUnindexed,
} from './queries.ts'
import { reading, type Work } from './records.ts'

interface AccountLog {
  readonly accountId: string
  readonly keys: KeyChain
  readonly kept: readonly SignedCheckpoint[]
  readonly withTimes: boolean
}

type Claim = { readonly stored: CheckpointRow } | { readonly kept: SignedCheckpoint }

const rowsPerPage = 200

/** Verifies that every leaf is there and covered, and every checkpoint is signed and has the root of its leaves. */
export async function* verifyLog(work: Work, log: AccountLog): AsyncGenerator<DatabaseFinding[]> {
  const verifier = new LogVerifier(work.sql, log)
  const kept = log.kept.toSorted((one, other) => one.checkpoint.tree_size - other.checkpoint.tree_size)
  const last = await reading(() => findLastCheckpoint(work.sql, log.accountId))
  for await (const claim of readClaims(work.sql, log.accountId, kept, last?.tree_size ?? 0)) {
    work.signal.throwIfAborted()
    if ('stored' in claim) work.inspected.checkpoints += 1
    const findings = await verifier.verify(claim)
    if (findings.length > 0) yield findings
  }
  const unindexed = await verifier.findUnindexed()
  if (unindexed.length > 0) yield unindexed
  if (log.withTimes && verifier.before) yield* verifyUnlogged(work, log.accountId, verifier.before)
  const misplaced = await reading(() => listMisplaced(work.sql, log.accountId, rowsPerPage))
  if (misplaced.length > 0) yield misplaced.map(leaf => misplacedFinding(log.accountId, leaf))
  const [larger] = kept
  if (larger) yield [verifier.shortened(larger)]
}

async function* verifyUnlogged(
  { sql, signal }: Work,
  accountId: string,
  before: Date,
): AsyncGenerator<DatabaseFinding[]> {
  let after: Backdated | undefined
  do {
    signal.throwIfAborted()
    const page = await reading(() => listBackdated(sql, accountId, before, after, rowsPerPage))
    if (page.length > 0) yield page.map(entry => backdatedFinding(accountId, entry))
    after = page.length < rowsPerPage ? undefined : page.at(-1)
  } while (after)
}

/** Merges checkpoints by size. Leaves those of more than `size` leaves in `kept`. */
async function* readClaims(sql: Sql, accountId: string, kept: SignedCheckpoint[], size: number): AsyncGenerator<Claim> {
  for (let after = 0; after < size; ) {
    const rows = await reading(() => listCheckpoints(sql, accountId, { after, upTo: size }, rowsPerPage))
    for (const stored of rows) {
      after = stored.tree_size
      while (kept[0] && kept[0].checkpoint.tree_size <= after) yield { kept: kept.shift() as SignedCheckpoint }
      yield { stored }
    }
    if (rows.length < rowsPerPage) return
  }
}

function misplacedFinding(accountId: string, { leaf_index, consent_id, version }: LeafRow): DatabaseFinding {
  const detail = `no checkpoint covers its leaf ${leaf_index}`
  return { account_id: accountId, consent_id, version, problem: 'forged', detail }
}

function backdatedFinding(accountId: string, entry: Backdated): DatabaseFinding {
  const { consent_id, version } = entry
  return { account_id: accountId, consent_id, version, problem: 'forged', detail: describeBackdating(entry) }
}

class LogVerifier {
  readonly #sql: Sql
  readonly #log: AccountLog
  readonly #leaves: Leaves
  readonly #tree = new MerkleTree()
  #covered = 0
  #next = 0
  #missing = 0
  #missingUntil = new Date(0)
  #complete = 0
  /** Signed time of the last complete checkpoint: new entries must be younger. */
  #before: Date | null = null
  #unknownRoot: string | null = null
  /** One change makes all later checkpoints wrong: only the first of each kind is reported. */
  readonly #isReported = { stored: false, kept: false }

  constructor(sql: Sql, log: AccountLog) {
    this.#sql = sql
    this.#log = log
    this.#leaves = new Leaves(sql, log.accountId)
  }

  get before(): Date | null {
    return this.#before
  }

  async verify(claim: Claim): Promise<DatabaseFinding[]> {
    if ('kept' in claim) {
      const { tree_size, created_at } = claim.kept.checkpoint
      const findings = await this.#readLeaves(tree_size, new Date(created_at))
      findings.push(...this.#verifyKept(claim.kept))
      this.#setBefore(claim.kept)
      return findings
    }
    const { stored } = claim
    const findings = await this.#readLeaves(stored.tree_size, stored.created_at)
    const signed = tryReadCheckpoint(stored.document)
    findings.push(...this.#verifyStored(stored, signed))
    this.#covered = stored.tree_size
    if (signed?.checkpoint.tree_size !== stored.tree_size) return findings
    this.#complete = completeSize(signed.checkpoint)
    this.#setBefore(signed)
    return findings
  }

  #setBefore(signed: SignedCheckpoint): void {
    const { account_id, tree_size, created_at, key_id } = signed.checkpoint
    const key = this.#log.keys.keys.get(key_id)?.publicKey
    const isOwn = account_id === this.#log.accountId && key && signed.isSignedBy(key)
    if (isOwn && completeSize(signed.checkpoint) === tree_size) this.#before = new Date(created_at)
  }

  shortened({ checkpoint }: SignedCheckpoint): DatabaseFinding {
    return this.#found(
      'shortened',
      `the log ends at ${this.#covered} leaves, before the kept checkpoint of ${checkpoint.tree_size}`,
    )
  }

  /**
   * Names entries without a leaf, unless they outnumber the missing leaves: a slow transaction's entry may still wait
   * for one.
   */
  async findUnindexed(): Promise<DatabaseFinding[]> {
    const limit = Math.min(this.#missing, rowsPerPage)
    if (limit === 0) return []
    const { accountId } = this.#log
    const entries = await reading(() => listUnindexed(this.#sql, accountId, this.#missingUntil, limit + 1))
    if (entries.length > limit) return []
    return entries.map(entry => ({
      account_id: accountId,
      ...entry,
      problem: 'changed',
      detail: 'has no leaf in the log',
    }))
  }

  async #readLeaves(size: number, until: Date): Promise<DatabaseFinding[]> {
    const findings: DatabaseFinding[] = []
    while (this.#next < size) {
      const leaf = await this.#leaves.next(size)
      const end = leaf?.leaf_index ?? size
      if (end > this.#next) {
        this.#unknownRoot = `leaf ${this.#next} is missing`
        this.#missing += end - this.#next
        this.#missingUntil = until
        const isOne = end === this.#next + 1
        const leaves = isOne ? `leaf ${this.#next} of the log is` : `leaves ${this.#next} to ${end - 1} of the log are`
        findings.push(this.#found('lost', `${leaves} missing`))
      }
      if (leaf) findings.push(...this.#append(leaf))
      this.#next = leaf ? end + 1 : size
    }
    return findings
  }

  #append({ hash, consent_id, version, at }: DatedLeafRow): DatabaseFinding[] {
    if (this.#unknownRoot === null) this.#tree.append(hash ?? Buffer.alloc(0))
    const checkpoint = this.#log.withTimes ? this.#before : null
    if (!at || !checkpoint || !isBackdated(at, checkpoint)) return []
    return [backdatedFinding(this.#log.accountId, { consent_id, version, at, checkpoint })]
  }

  #verifyStored(row: CheckpointRow, signed: SignedCheckpoint | null): DatabaseFinding[] {
    const problem =
      findRowProblem(row, signed, this.#log.keys) ??
      findMissing(row.from_size, this.#covered) ??
      findMissing(signed ? signed.checkpoint.previous_size : 0, this.#complete) ??
      this.#findRootProblem(row.root_hash) ??
      this.#findFrontierProblem(row)
    if (problem === null || this.#isReported.stored) return []
    this.#isReported.stored = true
    return [this.#found('changed', `the checkpoint of ${row.tree_size} leaves: ${problem}`)]
  }

  #verifyKept(signed: SignedCheckpoint): DatabaseFinding[] {
    const { root_hash, tree_size } = signed.checkpoint
    const problem =
      this.#unknownRoot ??
      findProofProblem(signed, this.#log.keys) ??
      this.#findRootProblem(Buffer.from(root_hash, 'hex'))
    if (problem === null || this.#isReported.kept) return []
    this.#isReported.kept = true
    return [this.#found('changed', `the kept checkpoint of ${tree_size} leaves: ${problem}`)]
  }

  #findRootProblem(root: Buffer): string | null {
    if (this.#unknownRoot !== null || root.equals(this.#tree.root)) return null
    return 'its root is not the root of the log'
  }

  #findFrontierProblem({ frontier }: CheckpointRow): string | null {
    if (this.#unknownRoot !== null || frontier.equals(this.#tree.frontier)) return null
    return 'its frontier was changed'
  }

  #found(problem: Problem, detail: string): DatabaseFinding {
    return { account_id: this.#log.accountId, consent_id: null, version: null, problem, detail }
  }
}

const leavesPerPage = 5000

class Leaves {
  readonly #sql: Sql
  readonly #accountId: string
  #page: DatedLeafRow[] = []
  #next = 0
  #from = 0

  constructor(sql: Sql, accountId: string) {
    this.#sql = sql
    this.#accountId = accountId
  }

  /** Returns null, without consuming the leaf, from `below` on. */
  async next(below: number): Promise<DatedLeafRow | null> {
    if (this.#next === this.#page.length) await this.#readPage(below)
    const leaf = this.#page[this.#next]
    if (!leaf || leaf.leaf_index >= below) return null
    this.#next += 1
    return leaf
  }

  async #readPage(below: number): Promise<void> {
    if (this.#from >= below) return
    const range = { from: this.#from, below }
    this.#page = await reading(() => listLeaves(this.#sql, this.#accountId, range, leavesPerPage))
    this.#next = 0
    const last = this.#page.at(-1)
    this.#from = last && this.#page.length === leavesPerPage ? last.leaf_index + 1 : below
  }
}

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
