import type { Sql } from 'postgres'

/** A pool of the driver's with one connection, which is never used again once that has closed. */
export interface Slot {
  readonly sql: Sql
  isGone: boolean
}

/** Makes a driver's pool of one connection that calls back when it closes. */
export type Open = (options: { readonly onclose: () => void; readonly prepare: boolean }) => Sql

/** How long all of the hosts may take together until one has taken a connection, in milliseconds. */
const patience = 5000

/**
 * The hosts that a database may be on, of which one serves at a time: the others refuse, or do not answer. postgres.js 3.4.9
 * goes round several by itself without a pause and without an end, also for a pool that was ended.
 */
export class Hosts {
  /** First the one that took the last connection. */
  readonly #opens: [Open, ...Open[]]

  constructor(opens: readonly [Open, ...Open[]]) {
    this.#opens = [...opens]
  }

  /** A pool that is never connected, for what the driver does without. */
  get idle(): Sql {
    return this.#opens[0]({ onclose: () => {}, prepare: true })
  }

  /**
   * A connection that is open, to the host that took the last one or else to the first one after it that does. Throws what
   * the last of them has thrown. `discard` is told of each one that closes or fails; `prepare` says whether statements are
   * prepared on it.
   */
  async connect(discard: (slot: Slot) => void, prepare: boolean): Promise<Slot> {
    let failure: unknown
    for (const open of [...this.#opens]) {
      const slot: Slot = { sql: open({ onclose: () => discard(slot), prepare }), isGone: false }
      const timer = setTimeout(() => discard(slot), patience / this.#opens.length)
      try {
        await slot.sql`select 1`
        return slot
      } catch (error) {
        failure = error
        discard(slot)
        if (this.#opens[0] === open) this.#opens.push(...this.#opens.splice(0, 1))
      } finally {
        clearTimeout(timer)
      }
    }
    throw failure
  }
}
