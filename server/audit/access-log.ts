import type { Sql } from 'postgres'
import type { ReadOperation } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { newId } from '../ids.ts'
import { hashSubject, type SubjectSecret } from '../subjects/hmac.ts'
import { insertReads, type ReadRow } from './read-queries.ts'

/** Reads are written together after their responses, because a statement for each would cost as much as the read. */
const flushDelayMs = 500

/** While the database does not take them. */
const retryDelayMs = 5000

const rowsPerStatement = 500

/** About 5 MB. */
const maxWaiting = 20_000

interface WaitingRead extends ReadRow {
  readonly accountId: string
}

/**
 * Who read what of which person. A crash loses the reads of the last half second; a database that takes no writes loses
 * none until `maxWaiting` are waiting.
 */
export class AccessLog {
  readonly #sql: Sql
  readonly #secret: SubjectSecret
  readonly #onLost: (reads: number) => void
  #waiting: WaitingRead[] = []
  #timer: NodeJS.Timeout | undefined
  #flush: Promise<void> = Promise.resolve()

  constructor(sql: Sql, secret: SubjectSecret, onLost: (reads: number) => void = () => {}) {
    this.#sql = sql
    this.#secret = secret
    this.#onLost = onLost
  }

  /** Does nothing for a record without a subject. */
  record(
    { accountId, kind, id: actorId }: Caller,
    operation: ReadOperation,
    subjectId: string | null | undefined,
  ): void {
    if (!subjectId || kind === 'site_token') return
    if (this.#waiting.length >= maxWaiting) {
      this.#onLost(1)
      return
    }
    const subjectHmac = hashSubject(this.#secret, accountId, subjectId)
    this.#waiting.push({ accountId, id: newId(), operation, subjectHmac, readBy: kind, actorId })
    this.#flushIn(flushDelayMs)
  }

  /** Waits for the database if many are waiting: a request for many persons must not drop the reads of others. */
  async recordAll(caller: Caller, operation: ReadOperation, subjectIds: readonly string[]): Promise<void> {
    for (const subjectId of subjectIds) this.record(caller, operation, subjectId)
    if (this.#waiting.length > maxWaiting / 4) await this.flush().catch(() => {})
  }

  /** Writes all that are waiting. Later calls wait for earlier ones. @throws PostgresError: they go on waiting */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flush = this.#flush.catch(() => {}).then(() => this.#write())
    return this.#flush
  }

  /** At a stop: reports what cannot be written. */
  async close(): Promise<void> {
    await this.flush().catch(() => {})
    clearTimeout(this.#timer)
    if (this.#waiting.length > 0) this.#onLost(this.#waiting.length)
  }

  async #write(): Promise<void> {
    const rows = this.#waiting
    this.#waiting = []
    const left = new Set(rows)
    try {
      for (const [accountId, own] of groupByAccount(rows))
        for (let start = 0; start < own.length; start += rowsPerStatement) {
          const part = own.slice(start, start + rowsPerStatement)
          await insertReads(this.#sql, accountId, part)
          for (const row of part) left.delete(row)
        }
    } catch (error) {
      this.#waiting = [...left, ...this.#waiting]
      this.#flushIn(retryDelayMs)
      throw error
    }
  }

  #flushIn(delayMs: number): void {
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), delayMs).unref()
  }
}

function groupByAccount(rows: readonly WaitingRead[]): Map<string, WaitingRead[]> {
  const groups = new Map<string, WaitingRead[]>()
  for (const row of rows) {
    const own = groups.get(row.accountId)
    if (own) own.push(row)
    else groups.set(row.accountId, [row])
  }
  return groups
}
