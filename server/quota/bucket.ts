import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { wasNotExecuted } from '../db/errors.ts'
import { findUsage, type Period, settleLease, takeLease } from './queries.ts'

// What a lease of units may be.

/** How long a node holds a lease, in milliseconds; what it has not spent by then goes back. */
export const leaseTime = 1000
/** For others to wait for it: giving it back takes a while too. */
const returnTime = 2 * leaseTime
/** Units of a lease at most. */
export const largestLease = 1000
/** Of a node that found nothing, in milliseconds: how often it looks again meanwhile, and how long it then says so. */
const pauses = { look: 50, refusal: 200 } as const

/**
 * What a node may spend of an account's quota in one month without asking. It takes leases from the account's row, larger
 * the faster they are spent, and single units near the limit. Before it says that nothing is left it waits for the leases
 * of other nodes to end, so that no unit is refused that somebody will give back.
 */
export class Bucket {
  readonly period: Period
  readonly #sql: Sql
  readonly #onIdle: () => void
  /** Units of the present lease; those not spent yet; the account's count after it was taken. */
  #size = 0
  #left = 0
  #used = 0
  /** How many units were last spent within a lease's time; how many are waited for. */
  #pace = 1
  #waiting = 0
  #taking: Promise<void> | undefined
  #settling: Promise<void> = Promise.resolve()
  #refusedUntil = 0
  #timer: NodeJS.Timeout | undefined

  constructor(sql: Sql, period: Period, onIdle: () => void) {
    this.#sql = sql
    this.period = period
    this.#onIdle = onIdle
  }

  /** Spends so many units of the present lease; false, and nothing spent, where it has not as many. */
  spendHeld(wanted: number): boolean {
    if (this.#left < wanted) return false
    this.#left -= wanted
    return true
  }

  /** Spends so many units at most; resolves to how many, 0 where none is left. Throws what the database throws. */
  async spend(limit: number | null, wanted = 1): Promise<number> {
    while (this.#left === 0) {
      if (performance.now() < this.#refusedUntil) return 0
      this.#waiting += wanted
      this.#taking ??= this.#take(limit).finally(() => {
        this.#taking = undefined
      })
      await this.#taking.finally(() => {
        this.#waiting -= wanted
      })
    }
    const spent = Math.min(wanted, this.#left)
    this.#left -= spent
    return spent
  }

  /** Makes units free again that were spent in vain. */
  giveBack(units = 1): void {
    this.#left += units
    this.#settleLater()
  }

  /** Units spent by all nodes, as far as this one knows. */
  get used(): number {
    return this.#used - this.#left
  }

  /** Units that this node holds and has not spent. */
  get unspent(): number {
    return this.#left
  }
  /** Ends the lease, and gives back what was not spent; resolves when that and what went back before is back. */
  settle(): Promise<void> {
    this.#settling = this.#settling.catch(() => {}).then(() => this.#settle())
    return this.#settling
  }

  async #settle(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.#taking?.catch(() => {})
    const [settled, unspent] = [this.#size, this.#left]
    this.#size = 0
    this.#left = 0
    this.#used -= unspent
    this.#pace = Math.max(1, settled - unspent)
    if (settled > 0 || unspent > 0) {
      const written = settleLease(this.#sql, this.period, { settled, unspent })
      await written.catch(error => this.#restore(error, settled, unspent))
    }
    if (!this.#timer && !this.#taking) this.#onIdle()
  }

  async #take(limit: number | null): Promise<void> {
    if (this.#size > 0) this.#pace = Math.min(this.#size * 2, largestLease)
    let settled = this.#size
    this.#size = 0
    const patientUntil = performance.now() + returnTime
    for (;;) {
      const until = new Date(Date.now() + returnTime)
      const needed = Math.min(this.#waiting, largestLease)
      const wanted = Math.max(Math.min(this.#pace, largestLease), needed)
      const taken = takeLease(this.#sql, this.period, { wanted, needed, limit, until, settled })
      const lease = await taken.catch(error => this.#restore(error, settled, 0))
      if (lease) return this.#open(lease)
      if (settled > 0) {
        const written = settleLease(this.#sql, this.period, { settled, unspent: 0 })
        await written.catch(error => this.#restore(error, settled, 0))
      }
      settled = 0
      const { used, held, held_until } = await findUsage(this.#sql, this.period)
      this.#used = used
      const isHeld = held > 0 && held_until !== null && held_until.getTime() > Date.now()
      if (performance.now() > patientUntil) break
      if (isHeld) await delay(pauses.look)
      else if (limit === null || used >= limit) break
    }
    this.#refusedUntil = performance.now() + pauses.refusal
    this.#settleLater()
  }

  /** What was not written is still to be settled; what may have been is given up, for nothing may be granted twice. */
  #restore(error: unknown, settled: number, unspent: number): never {
    if (wasNotExecuted(error)) {
      this.#size += settled
      this.#left += unspent
      this.#used += unspent
      this.#settleLater()
    }
    throw error
  }

  #open({ used, granted }: { used: number; granted: number }): void {
    this.#used = used
    this.#left += granted
    this.#size += granted > 1 ? granted : 0
    if (granted === 1) this.#pace = Math.min(this.#pace * 2, largestLease)
    this.#timer?.refresh()
    this.#settleLater()
  }

  #settleLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      if (this.#taking) this.#settleLater()
      else this.settle().catch(() => {}) // tried again later, unless it may have been done
    }, leaseTime).unref()
  }
}
