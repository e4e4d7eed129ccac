import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { placeEntries, requestMs } from '../evidence/log.ts'
import { unavailable } from '../failure.ts'

const intervalMs = 1000

/** Of an account, on a node. */
const maxFollowers = 100

interface Follower {
  readonly after: number | null
  readonly isOver: () => boolean
  readonly resolve: () => void
}

/** Places the entries of an account once a second while somebody waits for its events, however many and however often. */
export class Followers {
  readonly #sql: Sql
  readonly #accounts = new Map<string, Set<Follower>>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * Waits for an event behind the position, or until `isOver`, which is asked once a second.
   * @throws Failure `unavailable` if too many wait
   */
  wait(accountId: string, after: number | null, isOver: () => boolean): Promise<void> {
    const known = this.#accounts.get(accountId)
    const waiting = known ?? new Set()
    if (waiting.size >= maxFollowers) throw unavailable('Too many followers of this account are waiting.')
    return new Promise(resolve => {
      waiting.add({ after, isOver, resolve })
      if (known) return
      this.#accounts.set(accountId, waiting)
      void this.#follow(accountId, waiting)
    })
  }

  async #follow(accountId: string, waiting: Set<Follower>): Promise<void> {
    while (waiting.size > 0) {
      const bounded = { sql: this.#sql, signal: AbortSignal.timeout(requestMs) }
      const placed = await placeEntries(bounded, accountId).catch(() => null) // tried again in a second
      for (const follower of waiting) {
        if ((placed?.size ?? 0) <= (follower.after ?? -1) + 1 && !follower.isOver()) continue
        waiting.delete(follower)
        follower.resolve()
      }
      await delay(intervalMs, undefined, { ref: false }) // also if nobody waits: the next one may wait again at once
    }
    this.#accounts.delete(accountId)
  }
}
