import type { Sql } from 'postgres'
import type { DatabaseFinding, Problem } from '../../src/contract/index.ts'
import { MerkleTree } from '../../src/evidence/merkle.ts'
import { readCheckpoint, type SignedCheckpoint } from '../../src/evidence/signed.ts'
import { type CheckpointRow, findLastCheckpoint } from '../evidence/queries.ts'
import type { Keys } from '../evidence/signer.ts'
import { type LeafRow, listCheckpoints, listLeaves, listMisplaced, listPlaceless } from './queries.ts'
import { reading, type Work } from './records.ts'

/** What is wrong with a checkpoint's signature; null where nothing is. */
function signatureProblem({ checkpoint, isSignedBy }: SignedCheckpoint, keys: Keys): string | null {
  const key = keys.get(checkpoint.key_id)
  if (!key) return 'it is signed by a key that the database does not know'
  return isSignedBy(key) ? null : 'its signature is not valid'
}

/** What is wrong with a stored checkpoint by itself; null where nothing is. */
function storedProblem(row: CheckpointRow, keys: Keys): string | null {
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

/** Places of a log that no leaf has, and the leaves beside them, where these were taken together with what is missing. */
interface Gap {
  readonly from: number
  /** The first place behind it. */
  readonly to: number
  readonly above: LeafRow | undefined
  readonly below: LeafRow | undefined
  /** When the checkpoint was made that covers it: what is younger waits for its place as it should. */
  readonly until: Date
}

/** The widest gap of which it is looked whether its entries are there, without their places. */
const widest = 100

/**
 * What a gap says: which entries lost their places, where the log has no more of them than are missing in the order
 * between its neighbours; and that others are gone, beside which they were.
 */
async function findingsOfGap(sql: Sql, accountId: string, gap: Gap): Promise<DatabaseFinding[]> {
  const { from, to } = gap
  const width = to - from
  const placeless = width > widest ? [] : await reading(() => listPlaceless(sql, accountId, gap, width + 1))
  const known = placeless.length > width ? [] : placeless
  const places = width === 1 ? `leaf ${from}` : `leaves ${from} to ${to - 1}`
  const findings = known.map(({ consent_id, version }): DatabaseFinding => {
    const detail = `its place in the log was taken from it: ${places}`
    return { account_id: accountId, consent_id, version, problem: 'changed', detail }
  })
  if (known.length === width) return findings
  const beside = [named('behind', gap.above), named('before', gap.below)].filter(Boolean).join(', ')
  const detail = `${places} of the log ${width === 1 ? 'is' : 'are'} missing${beside && `: ${beside}`}`
  return [...findings, { account_id: accountId, consent_id: null, version: null, problem: 'lost', detail }]
}

function named(where: string, leaf: LeafRow | undefined): string {
  return leaf ? `${where} version ${leaf.version} of ${leaf.consent_id}` : ''
}

/** Leaves that are read in one statement. */
const leavesAtOnce = 5000

/** The leaves of an account's log in the order of their places, read as they are asked for. */
class Leaves {
  readonly #sql: Sql
  readonly #accountId: string
  #read: LeafRow[] = []
  #next = 0
  #from = 0

  constructor(sql: Sql, accountId: string) {
    this.#sql = sql
    this.#accountId = accountId
  }

  /** The next one, unless its place is not below this; then null, and it comes later. */
  async next(below: number): Promise<LeafRow | null> {
    if (this.#next === this.#read.length) await this.#more(below)
    const leaf = this.#read[this.#next]
    if (!leaf || leaf.leaf_index >= below) return null
    this.#next += 1
    return leaf
  }

  async #more(below: number): Promise<void> {
    if (this.#from >= below) return
    const range = { from: this.#from, below }
    this.#read = await reading(() => listLeaves(this.#sql, this.#accountId, range, leavesAtOnce))
    this.#next = 0
    const last = this.#read.at(-1)
    this.#from = last && this.#read.length === leavesAtOnce ? last.leaf_index + 1 : below
  }
}

/** The way through the leaves of a log, from one checkpoint to the next. */
class LogWalk {
  readonly #sql: Sql
  readonly #log: LogOf
  readonly #leaves: Leaves
  readonly #tree = new MerkleTree()
  /** How many leaves the stored checkpoints so far cover. */
  #size = 0
  #place = 0
  #previous: LeafRow | undefined
  /** Why no root can be told any more. */
  #doubt: string | null = null
  /** Of what only the first one is told: a change makes every later checkpoint wrong. */
  readonly #isTold = { row: false, kept: false }

  constructor(sql: Sql, log: LogOf) {
    this.#sql = sql
    this.#log = log
    this.#leaves = new Leaves(sql, log.accountId)
  }

  /** Goes on to a checkpoint, and says what is wrong with it and on the way. */
  async to(mark: Mark): Promise<DatabaseFinding[]> {
    if ('kept' in mark) {
      const { tree_size, created_at } = mark.kept.checkpoint
      const findings = await this.#advance(tree_size, new Date(created_at))
      return [...findings, ...this.#ofKept(mark.kept)]
    }
    const findings = await this.#advance(mark.row.tree_size, mark.row.created_at)
    findings.push(...this.#ofRow(mark.row))
    this.#size = mark.row.tree_size
    return findings
  }

  /** What a kept checkpoint of more leaves than all the stored ones says. */
  cutBefore({ checkpoint }: SignedCheckpoint): DatabaseFinding {
    return this.#found(
      'shortened',
      `the checkpoint of ${checkpoint.tree_size} leaves that was kept is not met: the log ends at ${this.#size}`,
    )
  }

  async #advance(size: number, until: Date): Promise<DatabaseFinding[]> {
    const findings: DatabaseFinding[] = []
    const start = this.#place
    while (this.#place < size) {
      const leaf = await this.#leaves.next(size)
      const end = leaf?.leaf_index ?? size
      if (end > this.#place) {
        this.#doubt = `leaf ${this.#place} is missing`
        const above = this.#place === start ? undefined : this.#previous
        const gap = { from: this.#place, to: end, above, below: leaf ?? undefined, until }
        findings.push(...(await findingsOfGap(this.#sql, this.#log.accountId, gap)))
      }
      if (leaf && this.#doubt === null) this.#tree.append(leaf.hash ?? Buffer.alloc(0))
      this.#previous = leaf ?? undefined
      this.#place = leaf ? end + 1 : size
    }
    return findings
  }

  #ofRow(row: CheckpointRow): DatabaseFinding[] {
    const problem =
      storedProblem(row, this.#log.keys) ??
      (row.from_size === this.#size
        ? null
        : `it went on from one of ${row.from_size} leaves, which is missing`) ??
      this.#rootProblem(row.root_hash) ??
      this.#frontierProblem(row)
    if (problem === null || this.#isTold.row) return []
    this.#isTold.row = true
    const between =
      this.#size < row.tree_size - 1 ? `, of which ${this.#size} to ${row.tree_size - 1} are new in it` : ''
    return [this.#found('changed', `the checkpoint of ${row.tree_size} leaves${between}: ${problem}`)]
  }

  #ofKept(signed: SignedCheckpoint): DatabaseFinding[] {
    const { root_hash, tree_size } = signed.checkpoint
    const problem =
      this.#doubt ??
      signatureProblem(signed, this.#log.keys) ??
      this.#rootProblem(Buffer.from(root_hash, 'hex'))
    if (problem === null || this.#isTold.kept) return []
    this.#isTold.kept = true
    return [this.#found('changed', `the checkpoint of ${tree_size} leaves that was kept: ${problem}`)]
  }

  #rootProblem(root: Buffer): string | null {
    if (this.#doubt !== null || root.equals(this.#tree.root)) return null
    return 'its root is not that of the log'
  }

  #frontierProblem({ frontier }: CheckpointRow): string | null {
    return this.#doubt !== null || frontier.equals(this.#tree.frontier) ? null : 'its frontier was changed'
  }

  #found(problem: Problem, detail: string): DatabaseFinding {
    return { account_id: this.#log.accountId, consent_id: null, version: null, problem, detail }
  }
}

interface LogOf {
  readonly accountId: string
  readonly keys: Keys
  /** Checkpoints of the account that were kept elsewhere. */
  readonly kept: readonly SignedCheckpoint[]
}

/** Something that is said about the first leaves: by the database, or by what was kept elsewhere. */
type Mark = { readonly row: CheckpointRow } | { readonly kept: SignedCheckpoint }

/** Checkpoints, or misplaced leaves, that are read in one statement. */
const batch = 200

/**
 * Verifies an account's log: that no leaf is missing, that every checkpoint is signed and has the root of its first ones,
 * the kept ones too, and that there is no leaf beyond.
 */
export async function* verifyLog(work: Work, log: LogOf): AsyncGenerator<DatabaseFinding[]> {
  const walk = new LogWalk(work.sql, log)
  const kept = log.kept.toSorted((one, other) => one.checkpoint.tree_size - other.checkpoint.tree_size)
  const last = await reading(() => findLastCheckpoint(work.sql, log.accountId))
  for await (const mark of marks(work.sql, log.accountId, kept, last?.tree_size ?? 0)) {
    work.signal.throwIfAborted()
    if ('row' in mark) work.inspected.checkpoints += 1
    const findings = await walk.to(mark)
    if (findings.length > 0) yield findings
  }
  const beyond = await reading(() => listMisplaced(work.sql, log.accountId, batch))
  if (beyond.length > 0) yield beyond.map(leaf => misplaced(log.accountId, leaf))
  const [cut] = kept
  if (cut) yield [walk.cutBefore(cut)]
}

/**
 * Stored and kept checkpoints together, the smallest first; those of more leaves than `size` stay, for they may be made
 * while this is read.
 */
async function* marks(
  sql: Sql,
  accountId: string,
  kept: SignedCheckpoint[],
  size: number,
): AsyncGenerator<Mark> {
  for (let after = 0; after < size; ) {
    const rows = await reading(() => listCheckpoints(sql, accountId, { after, upTo: size }, batch))
    for (const row of rows) {
      after = row.tree_size
      while (kept[0] && kept[0].checkpoint.tree_size <= after)
        yield { kept: kept.shift() as SignedCheckpoint }
      yield { row }
    }
    if (rows.length < batch) return
  }
}

function misplaced(accountId: string, { leaf_index, consent_id, version }: LeafRow): DatabaseFinding {
  const detail = `no checkpoint covers its place ${leaf_index} in the log`
  return { account_id: accountId, consent_id, version, problem: 'forged', detail }
}
