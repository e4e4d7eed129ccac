import type { Sql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'

/** This machine's clock may be off by this much. */
export const clockToleranceMs = 30_000

const sampleCount = 5

/** The database's clock, continued by this machine's monotonic clock. */
export class DatabaseClock {
  readonly #sql: Sql
  /** Database time minus `performance.now()`, in ms. */
  readonly #samples: number[] = []
  #median = 0

  private constructor(sql: Sql) {
    this.#sql = sql
  }

  static async open(sql: Sql): Promise<DatabaseClock> {
    const clock = new DatabaseClock(sql)
    for (let count = 0; count < sampleCount; count += 1) await clock.sample()
    return clock
  }

  now(): Date {
    return new Date(performance.now() + this.#median)
  }

  /** Positive if this machine's clock is ahead. */
  get offsetMs(): number {
    return Date.now() - performance.now() - this.#median
  }

  async sample(): Promise<void> {
    const start = performance.now()
    const [row] = await this.#sql<{ now: number }[]>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`
    if (!row) return
    this.#samples.push(row.now - (start + performance.now()) / 2)
    if (this.#samples.length > sampleCount) this.#samples.shift()
    const sorted = [...this.#samples].sort((a, b) => a - b)
    this.#median = sorted[Math.floor(sorted.length / 2)] ?? 0
  }
}

/** @throws OperatorError if this machine's clock is wrong */
export async function checkClock(sql: Sql): Promise<void> {
  const clock = await DatabaseClock.open(sql)
  const seconds = Math.round(Math.abs(clock.offsetMs) / 1000)
  if (seconds * 1000 <= clockToleranceMs) return
  const difference = seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`
  throw new OperatorError(`the clocks of this machine and of the database are ${difference} apart`, {
    hint: 'synchronize them: a wrong clock would date records wrongly, or delete and purge them too early',
  })
}
