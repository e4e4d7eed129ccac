import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Sql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'
import { dbErrorCode } from '../db/errors.ts'
import { readOnly } from '../failure.ts'

const intervalMs = 1000

const problemIntervalMs = 250

/** Write delay after which the node becomes read-only. */
const lockToleranceMs = 1000

const clockWarningMs = 2000

const warningIntervalMs = 60_000

/** Keeps its state while the database is down. */
export class Monitor implements NodeState {
  readonly #sql: Sql
  readonly #logger: Pick<Logger, 'info' | 'warn'>
  readonly #clock: DatabaseClock
  readonly #stopping = new AbortController()
  #databaseProblem: string | null = null
  #loggedReason: string | null = null
  #nextWarning = 0
  #writeSentAt: number | null = null

  private constructor(sql: Sql, clock: DatabaseClock, logger: Pick<Logger, 'info' | 'warn'>) {
    this.#sql = sql
    this.#clock = clock
    this.#logger = logger
  }

  /** `sql` needs its own pool: in the pool of requests, a busy node would look like a lock. */
  static async start(sql: Sql, logger: Pick<Logger, 'info' | 'warn'>): Promise<Monitor> {
    const monitor = new Monitor(sql, await DatabaseClock.open(sql), logger)
    void monitor.#repeat()
    return monitor
  }

  stop(): void {
    this.#stopping.abort()
  }

  now(): Date {
    return this.#clock.now()
  }

  get clockOffsetMs(): number {
    return this.#clock.offsetMs
  }

  databaseProblem(): string | null {
    return this.#databaseProblem
  }

  clockProblem(): string | null {
    const offsetMs = this.#clock.offsetMs
    return Math.abs(offsetMs) > clockToleranceMs ? describeOffset(offsetMs) : null
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      if (this.#writeSentAt === null) void this.#write()
      await this.#read().catch(() => {})
      this.#log()
      const isWell = this.#databaseProblem === null && this.#writeSentAt === null
      const pauseMs = isWell ? intervalMs : problemIntervalMs
      await delay(pauseMs, null, { signal, ref: false }).catch(() => {})
    }
  }

  /** Detects a lock: a read succeeds while an earlier write waits. */
  async #read(): Promise<void> {
    const sentAt = performance.now()
    await this.#clock.sample()
    const isLocked = this.#writeSentAt !== null && sentAt - this.#writeSentAt > lockToleranceMs
    if (isLocked) this.#databaseProblem = 'a lock on the tables of the database delays every write'
  }

  async #write(): Promise<void> {
    this.#writeSentAt = performance.now()
    try {
      await writeNothing(this.#sql)
      this.#databaseProblem = null
    } catch (error) {
      if (dbErrorCode(error) === '25006') this.#databaseProblem = 'the database is read-only'
    }
    this.#writeSentAt = null
  }

  #log(): void {
    const reason = readOnlyReason(this)
    if ((reason === null) !== (this.#loggedReason === null)) {
      if (reason === null) this.#logger.info('the service accepts writes again')
      else this.#logger.warn({ reason }, 'the service is read-only')
    }
    this.#loggedReason = reason
    if (Math.abs(this.clockOffsetMs) <= clockWarningMs || performance.now() < this.#nextWarning) return
    this.#nextWarning = performance.now() + warningIntervalMs
    this.#logger.warn({ offset_ms: Math.round(this.clockOffsetMs) }, 'the clock differs from that of the database')
  }
}

function describeOffset(offsetMs: number): string {
  const seconds = Math.round(Math.abs(offsetMs) / 1000)
  return `its clock is ${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} that of the database`
}

/**
 * Changes no row, but needs a write's table locks. Fails with 25006 on a read-only database. Its condition is false: on
 * Citus an account's server may be down.
 */
async function writeNothing(sql: Sql): Promise<void> {
  await sql`
    with account as (select account_id from accounts where false for key share),
    site as (select account_id from sites where false for key share),
    units as (update usage set used = used where false),
    keys as (update idempotency_keys set key = key where false),
    records as (update consents set version = version where false),
    history as (insert into consent_history select * from consent_history where false),
    log as (insert into log_entries select * from log_entries where false)
    select 1`
}

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
    hint: 'synchronize them: with a wrong clock, records get wrong dates, or are deleted and purged too early',
  })
}

/** Determined without a query. */
export interface NodeState {
  now(): Date
  /** Returns a reason, or null. */
  databaseProblem(): string | null
  clockProblem(): string | null
}

export const healthyState: NodeState = {
  now: () => new Date(),
  databaseProblem: () => null,
  clockProblem: () => null,
}

export function readOnlyReason(state: NodeState): string | null {
  return state.clockProblem() ?? state.databaseProblem()
}

/** @throws Failure `read_only` */
export function requireWritable(state: NodeState): void {
  throwIfProblem(readOnlyReason(state))
}

/**
 * For responses that state the time.
 * @throws Failure `read_only`
 */
export function requireClock(state: NodeState): void {
  throwIfProblem(state.clockProblem())
}

function throwIfProblem(problem: string | null): void {
  if (problem !== null) throw readOnly(`The service is read-only at the moment: ${problem}.`)
}
