import { setMaxListeners } from 'node:events'
import type { Logger } from 'pino'
import type { Sql } from 'postgres'
import type { WebhookAttempt } from '../../src/contract/index.ts'
import type { Job } from '../background-jobs.ts'
import { AccountLists } from '../db/accounts.ts'
import { dbErrorCode } from '../db/errors.ts'
import { placeEntries, requestMs } from '../evidence/log.ts'
import { noId } from '../ids.ts'
import { type DueRow, listDue } from './queries.ts'
import type { Sender } from './sender.ts'
import { takeTurn } from './turn.ts'

export interface DispatcherDeps {
  readonly sql: Sql
  readonly sender: Sender
  readonly logger: Pick<Logger, 'info' | 'error'>
  readonly now: () => number
  readonly onAttempt?: ((attempt: WebhookAttempt) => void) | undefined
}

const intervalMs = 1000

const maxTurns = 100

/** A statement waits for a server of a Citus cluster that hangs. */
const partialPauseMs = 30_000

/** Begins turns for the endpoints that are due. Nodes share the work: an endpoint is one node's for the time of a turn. */
export class Dispatcher {
  readonly #deps: DispatcherDeps
  readonly #turns = new Set<Promise<void>>()
  /** Account of the last turn that was begun, so that each gets one when there are too many for a node. */
  #last = noId
  #pausedUntil = 0

  constructor(deps: DispatcherDeps) {
    this.#deps = deps
  }

  get job(): Job {
    return { name: 'webhooks', intervalMs, run: signal => this.#beginTurns(signal) }
  }

  /** Resolves when all turns have ended, which the job's signal makes them do. */
  async ended(): Promise<void> {
    await Promise.all(this.#turns)
  }

  async #beginTurns(signal: AbortSignal): Promise<null> {
    const { sql, now } = this.#deps
    if (performance.now() < this.#pausedUntil) return null
    setMaxListeners(0, signal) // each attempt has one
    const accounts = new AccountLists(sql)
    const placed = new Map<string, Promise<unknown>>()
    for (let free = maxTurns - this.#turns.size; free > 0 && !signal.aborted; free = maxTurns - this.#turns.size) {
      const at = new Date(now())
      const { rows, isLast } = await accounts.list(this.#last, free, (among, limit) =>
        listDue(sql, among, { at, limit }),
      )
      this.#last = isLast ? noId : (rows.at(-1)?.account_id ?? noId)
      for (const each of rows) {
        const { account_id } = each
        const isPlaced =
          placed.get(account_id) ??
          placeEntries({ sql, signal: AbortSignal.timeout(requestMs) }, account_id).catch((error: unknown) => {
            const cause = dbErrorCode(error) ?? (error as Error).message // what has a position is delivered
            this.#deps.logger.error({ account_id, cause }, 'webhook events get no positions')
          })
        placed.set(account_id, isPlaced)
        this.#begin(each, isPlaced, signal)
      }
      if (isLast) break
    }
    if (accounts.isPartial) this.#pausedUntil = performance.now() + partialPauseMs
    return null
  }

  #begin(due: DueRow, isPlaced: Promise<unknown>, signal: AbortSignal): void {
    const { logger, ...deps } = this.#deps
    const { account_id, id: webhook_id } = due
    const turn = isPlaced
      .then(() => takeTurn({ ...deps, signal }, due))
      .then(
        reported => reported && logger.info({ account_id, webhook_id }, `webhook ${reported}`),
        (error: unknown) => {
          const cause = dbErrorCode(error) ?? (error as Error).message
          logger.error({ account_id, webhook_id, cause }, 'webhook turn failed')
        },
      )
      .then(() => void this.#turns.delete(turn))
    this.#turns.add(turn)
  }
}
