import type { Sql } from 'postgres'
import { Bucket } from './bucket.ts'

/** The first day of an instant's calendar month in UTC, as `2026-11-01`: the month a unit is counted in. */
export function monthOf(instant: Date): string {
  return `${instant.toISOString().slice(0, 7)}-01`
}

/** When the month after an instant's begins, in seconds since 1970. */
export function resetOf(instant: Date): number {
  return Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth() + 1, 1) / 1000
}

/** The headers of an answer to an API key; none where the account has no limit. */
export function quotaHeaders(limit: number | null, used: number, now: Date): Record<string, string> {
  if (limit === null) return {}
  return {
    'x-quota-limit': String(limit),
    'x-quota-remaining': String(Math.max(0, limit - used)),
    'x-quota-reset': String(resetOf(now)),
  }
}

/** Units that a request has spent. */
export interface Units {
  readonly count: number
  /** For the request's answer. */
  readonly headers: Record<string, string>
  /** Makes some of them free again, all unless said: that much of the request failed on our side. */
  giveBack(count?: number): void
}

/** Every account's quota, as far as this node spends it. */
export class Quota {
  readonly #sql: Sql
  readonly #now: () => Date
  /** The bucket of each account's present month. */
  readonly #buckets = new Map<string, Bucket>()
  /** Those, and the ones of a month that has ended but is not settled. */
  readonly #live = new Set<Bucket>()

  constructor(sql: Sql, now = () => new Date()) {
    this.#sql = sql
    this.#now = now
  }

  /** Spends units of an account's month, as many as there are; null where none is left. A limit of null counts, but ends nowhere. */
  async spend(accountId: string, limit: number | null, wanted = 1): Promise<Units | null> {
    const now = this.#now()
    const month = monthOf(now)
    const bucket = this.#bucketOf(accountId, month)
    const count = await spendFrom(bucket, limit, wanted)
    if (count === 0) {
      const isOver = monthOf(this.#now()) !== month // a month has begun while this one was asked for
      return isOver ? await this.spend(accountId, limit, wanted) : null
    }
    return this.#units(bucket, count, quotaHeaders(limit, bucket.used, now))
  }

  /** The same at once, of units that this node holds; null where it must ask for more. */
  spendHeld(accountId: string, limit: number | null, wanted = 1): Units | null {
    const now = this.#now()
    const bucket = this.#bucketOf(accountId, monthOf(now))
    if (!bucket.spendHeld(wanted)) return null
    return this.#units(bucket, wanted, quotaHeaders(limit, bucket.used, now))
  }

  #units(bucket: Bucket, count: number, headers: Units['headers']): Units {
    let kept = count
    const giveBack = (units = kept) => {
      this.#live.add(bucket)
      bucket.giveBack(Math.min(units, kept))
      kept -= Math.min(units, kept)
    }
    return { count, headers, giveBack }
  }

  /** Units that this node holds of an account's month, and nobody has spent. */
  unspent(accountId: string, month: string): number {
    const bucket = this.#buckets.get(accountId)
    return bucket?.period.month === month ? bucket.unspent : 0
  }

  /** Gives everything back that was not spent; for a node that stops. */
  async settle(): Promise<void> {
    await Promise.allSettled([...this.#live].map(bucket => bucket.settle()))
  }

  #bucketOf(accountId: string, month: string): Bucket {
    const known = this.#buckets.get(accountId)
    if (known?.period.month === month) return known
    const bucket: Bucket = new Bucket(this.#sql, { accountId, month }, () => this.#drop(bucket))
    this.#buckets.set(accountId, bucket)
    this.#live.add(bucket)
    return bucket
  }

  #drop(bucket: Bucket): void {
    this.#live.delete(bucket)
    const { accountId } = bucket.period
    if (this.#buckets.get(accountId) === bucket) this.#buckets.delete(accountId)
  }
}

/** Takes what one lease has not from the next. */
async function spendFrom(bucket: Bucket, limit: number | null, wanted: number): Promise<number> {
  let count = 0
  try {
    for (;;) {
      const more = await bucket.spend(limit, wanted - count)
      count += more
      if (more === 0 || count === wanted) return count
    }
  } catch (error) {
    bucket.giveBack(count)
    throw error
  }
}
