import type { Sql } from 'postgres'
import type { DatabaseFinding, Problem } from '../../src/contract/index.ts'
import type { SignedCheckpoint } from '../../src/evidence/checkpoint.ts'
import { MerkleTree } from '../../src/evidence/merkle.ts'
import type { CheckpointRow } from '../evidence/log-queries.ts'
import { signatureProblem, storedProblem } from './checkpoint.ts'
import { findingsOfGap } from './gap.ts'
import { Leaves } from './leaves.ts'
import type { LogOf, Mark } from './log.ts'
import type { LeafRow } from './rows.ts'

/** The way through the leaves of a log, from one checkpoint to the next. */
export class LogWalk {
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
