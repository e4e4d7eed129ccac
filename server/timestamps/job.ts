import type { Logger } from 'pino'
import type { Sql } from 'postgres'
import { sha256 } from '../../src/evidence/bytes.ts'
import type { Job } from '../background-jobs.ts'
import { requestTimestamp, type Tsa } from './authority.ts'
import { type FailureReason, TimestampError } from './openssl.ts'
import { findUnstamped, insertTimestamp } from './queries.ts'

export interface TimestampCounts {
  countTimestamp(): void
  countTimestampFailure(reason: FailureReason): void
}

interface Deps {
  readonly sql: Sql
  readonly tsa: Tsa
  readonly logger: Pick<Logger, 'info' | 'error'>
  readonly counts?: TimestampCounts | undefined
  readonly now?: () => number
}

const intervalMs = 15_000

const maxPerRun = 100

/** A starting node ignores older checkpoints. */
const lookBackMs = 3 * 24 * 60 * 60 * 1000

/** Another node may store a checkpoint later than its date. */
const marginMs = 10 * 60 * 1000

const maxBackoffMs = 10 * 60 * 1000

/** Stamps the newest checkpoint first, because it covers all entries. Stops at a failure, and retries with exponential backoff. */
export function timestampJob(deps: Deps): Job {
  const stamper = new Stamper(deps)
  return { name: 'timestamps', intervalMs, run: signal => stamper.run(signal) }
}

class Stamper {
  readonly #deps: Deps
  readonly #now: () => number
  /** Earliest checkpoint that may lack a timestamp; null before the first run. */
  #since: number | null = null
  #failures = 0
  #retryAt = 0

  constructor(deps: Deps) {
    this.#deps = deps
    this.#now = deps.now ?? Date.now
  }

  async run(signal: AbortSignal): Promise<object | null> {
    const startedAt = this.#now()
    if (startedAt < this.#retryAt) return null
    this.#since ??= startedAt - lookBackMs
    let timestamps = 0
    try {
      for (let tries = 0; tries < maxPerRun && !signal.aborted; tries += 1) {
        const isStored = await this.#stampNext(signal)
        if (isStored === null) {
          this.#since = Math.max(this.#since, startedAt - marginMs)
          break
        }
        timestamps += isStored ? 1 : 0
      }
    } catch (error) {
      if (!(error instanceof TimestampError)) throw error
      if (!signal.aborted) this.#fail(error)
    }
    return timestamps > 0 ? { timestamps } : null
  }

  /** Returns null if no checkpoint lacks a timestamp, false if another node was faster. */
  async #stampNext(signal: AbortSignal): Promise<boolean | null> {
    const { sql, tsa, logger, counts } = this.#deps
    const next = await findUnstamped(sql, new Date(this.#since ?? 0))
    if (!next) return null
    const token = await requestTimestamp(tsa, sha256(Buffer.from(next.document)), signal)
    const isStored = await insertTimestamp(sql, next, token)
    if (this.#failures > 0) logger.info({ failures: this.#failures }, 'timestamps work again')
    this.#failures = 0
    if (isStored) counts?.countTimestamp()
    return isStored
  }

  #fail({ message, reason }: TimestampError): void {
    const { logger, counts } = this.#deps
    counts?.countTimestampFailure(reason)
    if (this.#failures === 0) logger.error({ reason, cause: `the timestamp ${message}` }, 'timestamps fail')
    this.#retryAt = this.#now() + Math.min(intervalMs * 2 ** this.#failures, maxBackoffMs)
    this.#failures += 1
  }
}
