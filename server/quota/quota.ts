import { LRUCache } from 'lru-cache'
import type { Sql } from 'postgres'
import { readOnly } from '../failure.ts'
import { type KnownLimit, Lease, remember } from './lease.ts'
import { findLimit } from './queries.ts'

/** In UTC: `2026-11-01`. */
export function monthOf(instant: Date): string {
  return `${instant.toISOString().slice(0, 7)}-01`
}

/** Seconds since 1970. */
export function resetOf(instant: Date): number {
  return Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth() + 1, 1) / 1000
}

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
  /** Default: all. */
  giveBack(count?: number): void
}

const maxKnownLimits = 10_000

const limitTtlMs = 60_000

export interface QuotaOptions {
  readonly now?: () => Date
  /** False while the database is read-only. */
  readonly canWrite?: () => boolean
}

/** Counts usage even without a limit. */
export class Quota {
  readonly #sql: Sql
  readonly #options: Required<QuotaOptions>
  readonly #limits = new LRUCache<string, KnownLimit>({ max: maxKnownLimits })
  readonly #leases = new Map<string, Lease>()
  readonly #live = new Set<Lease>()

  constructor(sql: Sql, { now = () => new Date(), canWrite = () => true }: QuotaOptions = {}) {
    this.#sql = sql
    this.#options = { now, canWrite }
  }

  /**
   * Returns null if no unit is left. While the database is read-only, a limited account spends held units only, and
   * those of others are counted later.
   * @throws Failure `read_only` if the lease has fewer units
   */
  async spend(accountId: string, wanted = 1): Promise<Units | null> {
    const month = monthOf(this.now())
    const lease = this.#leaseOf(accountId, month)
    const count = (await spendFrom(lease, wanted)) ?? (await this.#spendUnleased(lease, wanted))
    if (count > 0) return this.#units(lease, count)
    const isOver = monthOf(this.now()) !== month
    return isOver ? await this.spend(accountId, wanted) : null
  }

  /** Returns null if fewer are available. */
  spendHeld(accountId: string, wanted = 1): Units | null {
    const lease = this.#leaseOf(accountId, monthOf(this.now()))
    return lease.spendHeld(wanted) ? this.#units(lease, wanted) : null
  }

  exhaustedHeaders(accountId: string): Record<string, string> {
    const limit = this.#limitOf(accountId).units ?? 0
    return quotaHeaders(limit, limit, this.now())
  }

  now(): Date {
    return this.#options.now()
  }

  async #spendUnleased(lease: Lease, wanted: number): Promise<number> {
    if (lease.spendHeld(wanted)) return wanted
    const { limit, period } = lease
    const isKnown = performance.now() - limit.readAt < limitTtlMs
    if (!isKnown) remember(limit, await findLimit(this.#sql, period.accountId))
    if (limit.units === 0) return 0
    if (limit.units !== null) throw leaseUsedUp()
    lease.spendOnCredit(wanted)
    this.#live.add(lease)
    return wanted
  }

  #units(lease: Lease, count: number): Units {
    let kept = count
    const giveBack = (units = kept) => {
      this.#live.add(lease)
      lease.giveBack(Math.min(units, kept))
      kept -= Math.min(units, kept)
    }
    return { count, headers: quotaHeaders(lease.limit.units, lease.used, this.now()), giveBack }
  }

  unspent(accountId: string, month: string): number {
    const lease = this.#leases.get(accountId)
    return lease?.period.month === month ? lease.unspent : 0
  }

  async settle(): Promise<void> {
    await Promise.allSettled([...this.#live].map(lease => lease.settle()))
  }

  #leaseOf(accountId: string, month: string): Lease {
    const known = this.#leases.get(accountId)
    if (known?.period.month === month) return known
    const options = { ...this.#options, limit: this.#limitOf(accountId), onIdle: () => this.#drop(lease) }
    const lease: Lease = new Lease(this.#sql, { accountId, month }, options)
    this.#leases.set(accountId, lease)
    this.#live.add(lease)
    return lease
  }

  #limitOf(accountId: string): KnownLimit {
    const known = this.#leases.get(accountId)?.limit ?? this.#limits.get(accountId)
    if (known) return known
    const unknown: KnownLimit = { units: null, readAt: Number.NEGATIVE_INFINITY }
    this.#limits.set(accountId, unknown)
    return unknown
  }

  #drop(lease: Lease): void {
    this.#live.delete(lease)
    const { accountId } = lease.period
    if (this.#leases.get(accountId) === lease) this.#leases.delete(accountId)
  }
}

/**
 * Leases until it has enough units or none is left. Returns null, and spends nothing, if the rest cannot be leased now.
 */
async function spendFrom(lease: Lease, wanted: number): Promise<number | null> {
  let count = 0
  try {
    for (;;) {
      const more = await lease.spend(wanted - count)
      if (more === null) {
        lease.giveBack(count)
        return null
      }
      count += more
      if (more === 0 || count === wanted) return count
    }
  } catch (error) {
    lease.giveBack(count)
    throw error
  }
}

function leaseUsedUp() {
  return readOnly('The database is read-only, and this node holds no more units of the monthly quota.')
}
