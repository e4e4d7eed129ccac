import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { dbErrorCode, wasNotExecuted } from '../db/errors.ts'
import { findUsage, type Period, settleLease, type TakenLease, takeLease } from './queries.ts'

export const leaseMs = 1000

/** Time for another node's lease to end and its units to be returned. */
const returnMs = 2 * leaseMs

export const maxLeaseUnits = 1000

const pollMs = 50

/** Pause between queries when no unit is left. */
const refusalMs = 200

export interface KnownLimit {
  /** Null is unlimited. */
  units: number | null
  /** `performance.now()`; -Infinity before the first read. */
  readAt: number
}

interface LeaseOptions {
  readonly limit: KnownLimit
  readonly now: () => Date
  /** False while the database is read-only. Units are not returned then. */
  readonly canWrite: () => boolean
  readonly onIdle: () => void
}

/**
 * Per-node lease on an account's monthly quota. Takes units in batches that grow with the rate, and one at a time near
 * the limit. Returns unused ones after a second. Before it rejects, it waits for other nodes' leases to end.
 */
export class Lease {
  readonly period: Period
  readonly limit: KnownLimit
  readonly #sql: Sql
  readonly #options: LeaseOptions
  #held = 0
  /** Negative after spending on credit. */
  #left = 0
  #used = 0
  /** Units spent in the last lease, and the size of the next. */
  #rate = 1
  #waiting = 0
  #taking: Promise<void> | undefined
  /** Settles even if the statement waits for a lock. */
  #waitingForLease: Promise<void> | undefined
  #settling: Promise<void> = Promise.resolve()
  #refusedUntil = 0
  #timer: NodeJS.Timeout | undefined

  constructor(sql: Sql, period: Period, options: LeaseOptions) {
    this.#sql = sql
    this.period = period
    this.#options = options
    this.limit = options.limit
  }

  /** Returns false, and spends nothing, if fewer units are held. */
  spendHeld(units: number): boolean {
    if (this.#left < units) return false
    this.#left -= units
    return true
  }

  /** Returns the number, or null if the database is read-only. */
  async spend(wanted = 1): Promise<number | null> {
    while (this.#left <= 0) {
      if (!this.#options.canWrite()) return null
      if (performance.now() < this.#refusedUntil) return 0
      this.#waiting += wanted
      this.#taking ??= this.#take().finally(() => {
        this.#taking = undefined
      })
      this.#waitingForLease ??= this.#waitForLease(this.#taking)
      try {
        await this.#waitingForLease
      } catch (error) {
        if (dbErrorCode(error) === '25006') return null
        throw error
      } finally {
        this.#waiting -= wanted
      }
    }
    const spent = Math.min(wanted, this.#left)
    this.#left -= spent
    return spent
  }

  async #waitForLease(taking: Promise<void>): Promise<void> {
    const isOver = new AbortController()
    const { signal } = isOver
    const whileWritable = async () => {
      while (this.#options.canWrite() && !signal.aborted) await delay(pollMs, null, { signal }).catch(() => {})
    }
    try {
      await Promise.race([taking, whileWritable()])
    } finally {
      isOver.abort()
      this.#waitingForLease = undefined
    }
  }

  spendOnCredit(units: number): void {
    this.#left -= units
    this.#settleLater()
  }

  giveBack(units = 1): void {
    this.#left += units
    this.#settleLater()
  }

  get used(): number {
    return this.#used - this.#left
  }

  get unspent(): number {
    return this.#left
  }

  settle(): Promise<void> {
    this.#settling = this.#settling.catch(() => {}).then(() => this.#settle())
    return this.#settling
  }

  async #settle(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const taking = this.#taking
    await this.#waitingForLease?.catch(() => {})
    await taking?.catch(() => {})
    const settled = this.#held
    const unspent = this.#left
    this.#held = 0
    this.#left = 0
    this.#used -= unspent
    this.#rate = Math.max(1, settled - unspent)
    if (settled > 0 || unspent !== 0) await this.#write(settled, unspent)
    if (!this.#timer && !this.#taking) this.#options.onIdle()
  }

  async #take(): Promise<void> {
    if (this.#held > 0) this.#rate = Math.min(this.#held * 2, maxLeaseUnits)
    let settled = this.#held
    this.#held = 0
    if (this.#left < 0) {
      await this.#payDebt(settled)
      settled = 0
    }
    const deadline = performance.now() + returnMs
    for (;;) {
      const until = new Date(this.#options.now().getTime() + returnMs)
      const needed = Math.min(this.#waiting, maxLeaseUnits)
      const wanted = Math.max(Math.min(this.#rate, maxLeaseUnits), needed)
      const taken = takeLease(this.#sql, this.period, { wanted, needed, until, settled })
      const lease = await taken.catch(error => this.#restore(error, settled, 0))
      if (lease) return this.#open(lease)
      if (settled > 0) await this.#write(settled, 0)
      settled = 0
      const { used, held, held_until, monthly_quota: limit } = await findUsage(this.#sql, this.period)
      this.#used = used
      remember(this.limit, limit)
      const isHeldElsewhere = held > 0 && held_until !== null && held_until > this.#options.now()
      if (performance.now() > deadline) break
      if (isHeldElsewhere) await delay(pollMs)
      else if (limit === null || used >= limit) break
    }
    this.#refusedUntil = performance.now() + refusalMs
    this.#settleLater()
  }

  async #payDebt(settled: number): Promise<void> {
    const unspent = this.#left
    this.#left = 0
    this.#used -= unspent
    await this.#write(settled, unspent)
  }

  async #write(settled: number, unspent: number): Promise<void> {
    const written = settleLease(this.#sql, this.period, { settled, unspent })
    await written.catch(error => this.#restore(error, settled, unspent))
  }

  /**
   * Keeps unwritten units and debt for a later settlement, which may count debt twice. Drops the rest: no unit may be
   * granted twice.
   */
  #restore(error: unknown, settled: number, unspent: number): never {
    const isCertain = wasNotExecuted(error)
    if (isCertain || unspent < 0) {
      this.#held += isCertain ? settled : 0
      this.#left += unspent
      this.#used += unspent
      this.#settleLater()
    }
    throw error
  }

  #open({ used, granted, monthly_quota }: TakenLease): void {
    remember(this.limit, monthly_quota)
    this.#used = used
    this.#left += granted
    this.#held += granted > 1 ? granted : 0 // a single unit is spent at once
    if (granted === 1) this.#rate = Math.min(this.#rate * 2, maxLeaseUnits)
    this.#timer?.refresh()
    this.#settleLater()
  }

  #settleLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      if (this.#taking || !this.#options.canWrite()) this.#settleLater()
      else this.settle().catch(() => {}) // retried later, unless it may have been executed
    }, leaseMs).unref()
  }
}

export function remember(limit: KnownLimit, units: number | null): void {
  limit.units = units
  limit.readAt = performance.now()
}
