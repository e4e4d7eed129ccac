import type { Sql } from 'postgres'
import { Lease } from './lease.ts'

/** Returns the first day of the month in UTC, as `2026-11-01`. */
export function monthOf(instant: Date): string {
  return `${instant.toISOString().slice(0, 7)}-01`
}

/** Returns the start of the next month, in seconds since 1970. */
export function resetOf(instant: Date): number {
  return Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth() + 1, 1) / 1000
}

/** Returns no headers if the account has no limit. */
export function quotaHeaders(limit: number | null, used: number, now: Date): Record<string, string> {
  if (limit === null) return {}
  return {
    'x-quota-limit': String(limit),
    'x-quota-remaining': String(Math.max(0, limit - used)),
    'x-quota-reset': String(resetOf(now)),
  }
}

export interface Units {
  readonly count: number
  readonly headers: Record<string, string>
  /** Refunds units (default: all), because that part of the request failed in the service. */
  giveBack(count?: number): void
}

export class Quota {
  readonly #sql: Sql
  readonly #now: () => Date
  readonly #leases = new Map<string, Lease>()
  /** Present leases, and past ones until they are settled. */
  readonly #live = new Set<Lease>()

  constructor(sql: Sql, now = () => new Date()) {
    this.#sql = sql
    this.#now = now
  }

  /** Spends at most `wanted` units; returns null if none is left. A limit of null is unlimited, but counted. */
  async spend(accountId: string, limit: number | null, wanted = 1): Promise<Units | null> {
    const now = this.#now()
    const month = monthOf(now)
    const lease = this.#leaseOf(accountId, month)
    const count = await spendFrom(lease, limit, wanted)
    if (count === 0) {
      const isOver = monthOf(this.#now()) !== month // the next month began meanwhile
      return isOver ? await this.spend(accountId, limit, wanted) : null
    }
    return this.#units(lease, count, quotaHeaders(limit, lease.used, now))
  }

  /** Spends exactly `wanted` held units; returns null if there are fewer. */
  spendHeld(accountId: string, limit: number | null, wanted = 1): Units | null {
    const now = this.#now()
    const lease = this.#leaseOf(accountId, monthOf(now))
    if (!lease.spendHeld(wanted)) return null
    return this.#units(lease, wanted, quotaHeaders(limit, lease.used, now))
  }

  #units(lease: Lease, count: number, headers: Units['headers']): Units {
    let kept = count
    const giveBack = (units = kept) => {
      this.#live.add(lease)
      lease.giveBack(Math.min(units, kept))
      kept -= Math.min(units, kept)
    }
    return { count, headers, giveBack }
  }

  unspent(accountId: string, month: string): number {
    const lease = this.#leases.get(accountId)
    return lease?.period.month === month ? lease.unspent : 0
  }

  /** Returns all unspent units, when the node stops. */
  async settle(): Promise<void> {
    await Promise.allSettled([...this.#live].map(lease => lease.settle()))
  }

  #leaseOf(accountId: string, month: string): Lease {
    const known = this.#leases.get(accountId)
    if (known?.period.month === month) return known
    const lease: Lease = new Lease(this.#sql, { accountId, month }, () => this.#drop(lease))
    this.#leases.set(accountId, lease)
    this.#live.add(lease)
    return lease
  }

  #drop(lease: Lease): void {
    this.#live.delete(lease)
    const { accountId } = lease.period
    if (this.#leases.get(accountId) === lease) this.#leases.delete(accountId)
  }
}

/** Leases until it has enough units or none is left. */
async function spendFrom(lease: Lease, limit: number | null, wanted: number): Promise<number> {
  let count = 0
  try {
    for (;;) {
      const more = await lease.spend(limit, wanted - count)
      count += more
      if (more === 0 || count === wanted) return count
    }
  } catch (error) {
    lease.giveBack(count)
    throw error
  }
}
