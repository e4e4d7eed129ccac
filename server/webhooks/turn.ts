import { randomUUID } from 'node:crypto'
import type { Fragment, Sql } from 'postgres'
import type { Event, WebhookAttempt } from '../../src/contract/index.ts'
import { toEvent } from '../events/feed.ts'
import { type EventRow, listEventRows, listEventRowsOf } from '../events/queries.ts'
import {
  beginTurn,
  type ChangeAction,
  changeWebhook,
  type DueRow,
  downAfter,
  maxUndelivered,
  saveProgress,
  type Undelivered,
  type WebhookRow,
} from './queries.ts'
import type { Sender } from './sender.ts'

export interface TurnDeps {
  readonly sql: Sql
  readonly sender: Sender
  readonly now: () => number
  readonly onAttempt?: ((attempt: WebhookAttempt) => void) | undefined
  /** Ends the turn: an attempt without an answer is then not counted. */
  readonly signal: AbortSignal
}

/** No attempt begins later: other endpoints may need the node. */
const maxTurnMs = 20_000

/** A node that was killed holds its endpoints until then. Longer than a turn and its last attempts. */
const leaseMs = 60_000

/** So soon a turn notices that it was ended. */
const saveMs = 1000

const maxInFlight = 10

const eventsPerPage = 200

const eventsPerRecord = 100

const maxAttempts = 100

const firstPauseMs = 5000
const longestPauseMs = 60 * 60 * 1000

/** An endpoint is failing once an event has waited this long since its first attempt. */
export const failingAfterMs = 10 * 60 * 1000

export type Reported = 'failing' | 'recovered' | 'gone'

/**
 * Delivers what an endpoint has not got, in the order of each record. Returns what it wrote in the administrators' log,
 * or null: nothing, or another node was faster.
 */
export async function takeTurn(deps: TurnDeps, due: DueRow): Promise<Reported | null> {
  const at = new Date(deps.now())
  const turn = randomUUID()
  const row = await beginTurn(deps.sql, due, { turn, at, until: new Date(at.getTime() + leaseMs) })
  return row ? await new Turn(deps, due, turn, row).run() : null
}

/** Events of a record, by position. */
interface Chain {
  readonly record: string
  readonly rows: EventRow[]
  /** Position behind these from which there are more; null if there are none. */
  readonly rest: number | null
}

class Turn {
  readonly #deps: TurnDeps
  readonly #due: DueRow
  readonly #turn: string
  readonly #endpoint: WebhookRow
  readonly #started: number
  #position: number
  /** By record, also those whose events are in flight: what is saved then lacks nothing. */
  readonly #undelivered: Map<string, Undelivered>
  #failures: number
  #attempts: WebhookAttempt[]
  #isGone = false
  /** By a change of the row. */
  #isEnded = false
  #savedAt: number
  #isSaving = false

  constructor(deps: TurnDeps, due: DueRow, turn: string, endpoint: WebhookRow) {
    this.#deps = deps
    this.#due = due
    this.#turn = turn
    this.#endpoint = endpoint
    this.#started = deps.now()
    this.#savedAt = this.#started
    this.#position = endpoint.position
    this.#undelivered = new Map(endpoint.undelivered.map(each => [each.record, each]))
    this.#failures = endpoint.failures
    this.#attempts = [...endpoint.attempts]
  }

  async run(): Promise<Reported | null> {
    for (let isOver = false; !isOver; ) {
      const isAtEnd = !(await this.#deliverPage())
      isOver = isAtEnd || this.#mustStop()
      await this.#save(isOver)
      if (this.#isEnded) return null
    }
    return await this.#report()
  }

  #mustStop(): boolean {
    const isLate = this.#deps.now() - this.#started > maxTurnMs
    return isLate || this.#deps.signal.aborted || this.#isGone || this.#isEnded
  }

  /**
   * Returns false if there is nothing left to do now. Of an endpoint that is down it tries a record that failed and a new
   * one, because the first may be the cause.
   */
  async #deliverPage(): Promise<boolean> {
    const isProbe = this.#failures >= downAfter
    const chains = await this.#listAgain(isProbe)
    const isAgain = chains.size > 0
    const isFull = await this.#addFresh(chains, isProbe ? 1 : maxUndelivered)
    const all = [...chains.values()]
    let next = 0
    const work = async () => {
      for (let chain = all[next++]; chain; chain = all[next++]) await this.#deliverChain(chain, isProbe)
    }
    await Promise.all(Array.from({ length: isProbe ? 1 : maxInFlight }, work))
    if (isProbe && this.#failures >= downAfter && all.length > 0) this.#failures += 1
    return this.#failures < downAfter && (isFull || isAgain || isProbe)
  }

  /** The events of records whose time has come. */
  async #listAgain(isProbe: boolean): Promise<Map<string, Chain>> {
    const now = this.#deps.now()
    const all = [...this.#undelivered.values()]
    const ready = isProbe ? pickOne(all) : all.filter(({ next }) => next <= now)
    const chains = new Map<string, Chain>()
    if (ready.length === 0) return chains
    const { sql } = this.#deps
    const rows = await listEventRowsOf(sql, this.#due.account_id, ready, this.#position, eventsPerRecord)
    for (const { record } of ready) {
      const own = rows.filter(({ record_id }) => record_id === record)
      const rest = own.length === eventsPerRecord ? (own.at(-1)?.position ?? 0) + 1 : null
      const chain = { record, rows: own.filter(row => this.#isWanted(row)), rest }
      if (chain.rows.length > 0) chains.set(record, chain)
      else this.#end(chain)
    }
    return chains
  }

  /** Adds new events, of at most so many new records. Moves the position behind them. Returns true if there may be more. */
  async #addFresh(chains: Map<string, Chain>, most: number): Promise<boolean> {
    let free = Math.min(most, maxUndelivered - this.#undelivered.size)
    if (free <= 0) return false
    const rows = await listEventRows(this.#deps.sql, this.#due.account_id, this.#position, eventsPerPage)
    for (const row of rows) {
      const record = row.record_id
      const chain = chains.get(record)
      if (this.#isWanted(row)) {
        if (chain?.rest === null) chain.rows.push(row)
        else if (!chain && !this.#undelivered.has(record)) {
          if (free === 0) return true
          free -= 1
          chains.set(record, { record, rows: [row], rest: null })
          this.#undelivered.set(record, this.#itemOf(record, row.position))
        } // else it waits for earlier ones of its record, with which it is read again
      }
      this.#position = row.position
    }
    return rows.length === eventsPerPage
  }

  #itemOf(record: string, position: number): Undelivered {
    const at = this.#deps.now()
    return { record, position, failed: 0, since: at, next: at }
  }

  /** A purge leaves an update of which nobody knows if it was a withdrawal. */
  #isWanted(row: EventRow): boolean {
    const { types, site_ids } = this.#endpoint
    if (site_ids !== null && !site_ids.includes(row.site_id ?? '')) return false
    if (types === null) return true
    const { type, purposes } = this.#eventOf(row)
    return types.includes(type) || (type === 'updated' && purposes === null && types.includes('withdrawn'))
  }

  #eventOf(row: EventRow): Event {
    return toEvent(this.#due.account_id, row)
  }

  /** Ends at the first failure: the rest of the record waits. */
  async #deliverChain(chain: Chain, isProbe: boolean): Promise<void> {
    const { sender, signal } = this.#deps
    for (const [index, row] of chain.rows.entries()) {
      const isDown = !isProbe && this.#failures >= downAfter
      if (isDown || this.#mustStop()) return
      const { position } = row
      // Of the hash: after the restore of a backup another event has the position.
      const message = {
        id: `${this.#due.id}_${row.hash.slice(0, 32)}`,
        body: JSON.stringify(this.#eventOf(row)),
        position,
      }
      const attempt = await sender.send(this.#endpoint, message, signal)
      if (signal.aborted && attempt.status === null) return
      this.#deps.onAttempt?.(attempt)
      this.#attempts = [attempt, ...this.#attempts].slice(0, maxAttempts)
      if (attempt.problem !== null) this.#fail(chain.record, attempt, isProbe)
      else this.#succeed(chain, chain.rows[index + 1])
      if (!this.#isSaving && this.#deps.now() - this.#savedAt >= saveMs) await this.#save(false)
      if (attempt.problem !== null) return
    }
  }

  /** The first success after failures: the others may succeed, too. */
  #succeed(chain: Chain, next: EventRow | undefined): void {
    if (this.#failures > 0) this.#retryNow()
    this.#failures = 0
    if (next) this.#undelivered.set(chain.record, this.#itemOf(chain.record, next.position))
    else this.#end(chain)
  }

  #end({ record, rest }: Chain): void {
    if (rest === null) this.#undelivered.delete(record)
    else this.#undelivered.set(record, this.#itemOf(record, rest))
  }

  #fail(record: string, { status }: WebhookAttempt, isProbe: boolean): void {
    const before = this.#undelivered.get(record)
    if (!before) return
    const now = this.#deps.now()
    const failed = before.failed + 1
    const since = before.failed === 0 ? now : before.since
    this.#undelivered.set(record, { ...before, failed, since, next: now + pauseMs(failed) })
    // An event that is never accepted counts once, and so do those in flight together.
    if (!isProbe && before.failed === 0 && this.#failures < downAfter) this.#failures += 1
    if (status === 410) this.#isGone = true
  }

  #retryNow(): void {
    const next = this.#deps.now()
    for (const [record, each] of this.#undelivered) this.#undelivered.set(record, { ...each, next })
  }

  async #save(isOver: boolean): Promise<void> {
    const now = this.#deps.now()
    this.#savedAt = now
    this.#isSaving = true
    const undelivered = [...this.#undelivered.values()]
    const down = this.#failures >= downAfter ? pauseMs(this.#failures - downAfter + 1) : 0
    const isSaved = await saveProgress(this.#deps.sql, this.#due, this.#turn, {
      position: this.#position,
      undelivered,
      retryAt: undelivered.length > 0 ? new Date(Math.min(...undelivered.map(({ next }) => next))) : null,
      failures: this.#failures,
      attempts: this.#attempts,
      nextTurnAt: new Date(now + (isOver ? down : leaseMs)),
    })
    this.#isSaving = false
    if (!isSaved) this.#isEnded = true
  }

  /** Writes an entry of the administrators' log if the endpoint begins or ends to fail, or is gone. */
  async #report(): Promise<Reported | null> {
    const { sql, now } = this.#deps
    const at = new Date(now())
    const since = Math.min(...[...this.#undelivered.values()].filter(each => each.failed > 0).map(each => each.since))
    const wasFailing = this.#endpoint.failing_since !== null
    const write = async (reported: Reported, action: ChangeAction, set: Fragment) => {
      const key = { accountId: this.#due.account_id, id: this.#due.id }
      const condition = sql`w.turn = ${this.#turn}`
      return (await changeWebhook(sql, key, { actor: system, at, action, set, condition })) ? reported : null
    }
    if (this.#isGone) return await write('gone', 'webhook_updated', sql`paused_at = ${at}`)
    if (!wasFailing && at.getTime() - since >= failingAfterMs)
      return await write('failing', 'webhook_failing', sql`failing_since = ${new Date(since)}`)
    if (wasFailing && since === Number.POSITIVE_INFINITY)
      return await write('recovered', 'webhook_recovered', sql`failing_since = null`)
    return null
  }
}

const system = { kind: 'system', id: null } as const

function pickOne<T>(items: readonly T[]): T[] {
  const index = Math.floor(Math.random() * items.length)
  return items.slice(index, index + 1)
}

/** Twice as long after each failure, up to an hour, by a fifth more or less. */
function pauseMs(failed: number): number {
  return Math.min(firstPauseMs * 2 ** Math.min(failed - 1, 20), longestPauseMs) * (0.8 + 0.4 * Math.random())
}
