import type { Logger } from 'pino'
import type { Sql } from 'postgres'
import { sha256 } from '../../src/evidence/bytes.ts'
import type { Job } from '../background-jobs.ts'
import { forEachAccount, partialMessage } from '../db/accounts.ts'
import { dbErrorCode } from '../db/errors.ts'
import { requestTimestamp, type Tsa } from './authority.ts'
import { type FailureReason, TimestampError } from './openssl.ts'
import { insertTimestamp, listUnstamped, type UnstampedCheckpoint } from './queries.ts'

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

/** A starting node ignores older checkpoints. */
const lookBackMs = 3 * 24 * 60 * 60 * 1000

/** Another node may store a checkpoint later than its date. */
const marginMs = 10 * 60 * 1000

const maxBackoffMs = 10 * 60 * 1000

/**
 * Stamps the newest checkpoint of each account first, because it covers all entries. A run ends when it can stamp nothing
 * more, when it is aborted, or when the authority fails; retries that with exponential backoff. An account that fails, or
 * whose server is down, does not stop the others, and is reported at the end.
 */
export function timestampJob(deps: Deps): Job {
  const stamper = new Stamper(deps)
  return { name: 'timestamps', intervalMs, run: signal => stamper.run(signal) }
}

interface Round {
  /** Accounts with a checkpoint that lacks a timestamp. */
  readonly found: number
  readonly stamped: number
  readonly isPartial: boolean
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
    const failures = new Map<string, Error>()
    let [timestamps, isPartial] = [0, false]
    for (let stamped = 1; stamped > 0 && !signal.aborted && startedAt >= this.#retryAt; timestamps += stamped) {
      const done = await this.#stampEach(signal, failures)
      ;({ stamped, isPartial } = done)
      if (done.found === 0 && !isPartial) this.#since = Math.max(this.#since, startedAt - marginMs)
    }
    const [failed] = failures
    if (failed) {
      const cause = dbErrorCode(failed[1]) ?? failed[1].message
      throw new Error(`the timestamps of the account ${failed[0]}: ${cause}`)
    }
    if (isPartial) throw new Error(partialMessage)
    return timestamps > 0 ? { timestamps } : null
  }

  /** Stamps the newest such checkpoint of each account, except of those that `failed`, to which it adds. */
  async #stampEach(signal: AbortSignal, failed: Map<string, Error>): Promise<Round> {
    const { sql } = this.#deps
    const since = new Date(this.#since ?? 0)
    const stopping = new AbortController()
    let [found, stamped] = [0, 0]
    const { failures, isPartial } = await forEachAccount(sql, {
      signal: AbortSignal.any([signal, stopping.signal]),
      atOnce: 1, // an authority may limit requests
      list: async (among, limit) => {
        const rows = await listUnstamped(sql, among, { since, limit })
        found += rows.length
        return rows
      },
      work: async next => {
        if (failed.has(next.account_id)) return true // without another request to the authority
        try {
          const isStored = await this.#stamp(next, signal)
          stamped += isStored ? 1 : 0
          return isStored
        } catch (error) {
          if (!(error instanceof TimestampError)) throw error
          if (!signal.aborted) this.#fail(error)
          stopping.abort()
          return false
        }
      },
    })
    for (const [accountId, error] of failures) failed.set(accountId, error)
    return { found, stamped, isPartial }
  }

  /** Returns false if another node was faster. */
  async #stamp(next: UnstampedCheckpoint, signal: AbortSignal): Promise<boolean> {
    const { sql, tsa, logger, counts } = this.#deps
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
