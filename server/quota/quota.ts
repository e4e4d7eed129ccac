import type { Sql } from 'postgres'
import { Bucket } from './bucket.ts'
import { monthOf, quotaHeaders } from './month.ts'

/** A unit that a request has spent. */
export interface Unit {
  /** For the request's answer. */
  readonly headers: Record<string, string>
  /** Makes it free again: the request failed on our side. */
  giveBack(): void
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

  /** Spends a unit of an account's month; null where none is left. A limit of null counts, but ends nowhere. */
  async spend(accountId: string, limit: number | null): Promise<Unit | null> {
    const now = this.#now()
    const month = monthOf(now)
    const bucket = this.#bucketOf(accountId, month)
    if (!(await bucket.spend(limit))) {
      const isOver = monthOf(this.#now()) !== month // a month has begun while this one was asked for
      return isOver ? await this.spend(accountId, limit) : null
    }
    const giveBack = () => {
      this.#live.add(bucket)
      bucket.giveBack()
    }
    return { headers: quotaHeaders(limit, bucket.used, now), giveBack }
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
