import type { Sql } from 'postgres'
import { listLeaves } from './queries.ts'
import { reading } from './records.ts'
import type { LeafRow } from './rows.ts'

/** Leaves that are read in one statement. */
const batch = 5000

/** The leaves of an account's log in the order of their places, read as they are asked for. */
export class Leaves {
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
    this.#read = await reading(() => listLeaves(this.#sql, this.#accountId, range, batch))
    this.#next = 0
    const last = this.#read.at(-1)
    this.#from = last && this.#read.length === batch ? last.leaf_index + 1 : below
  }
}
