import { randomUUID } from 'node:crypto'
import type { Fragment, Sql } from 'postgres'
import type { Event, WebhookAttempt } from '../../src/contract/index.ts'
import { toEvent } from '../events/feed.ts'
import { type EventRow, listEventRows, listEventRowsAt } from '../events/queries.ts'
import { placeEntries, requestMs } from '../evidence/log.ts'
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
import { maxAttemptMs, type Sender } from './sender.ts'

export interface TurnDeps {
  readonly sql: Sql
  readonly sender: Sender
  readonly now: () => number
  readonly onAttempt?: ((attempt: WebhookAttempt) => void) | undefined
  /** Ends the turn: an attempt without an answer is then not counted. */
  readonly signal: AbortSignal
}

/** Then other endpoints may need the node. */
const maxTurnMs = 20_000

/** A node that was killed holds its endpoints until then. Longer than a turn and an attempt, for clocks that differ. */
const leaseMs = 60_000

const maxInFlight = 10

const eventsPerPage = 500

const maxAttempts = 100

const firstPauseMs = 5000
const longestPauseMs = 60 * 60 * 1000

/** An endpoint is failing when an event is undelivered for so long. */
export const failingAfterMs = 10 * 60 * 1000

export type Reported = 'failing' | 'recovered' | 'gone'

/**
 * Delivers what an endpoint has not got, in the order of each record, for 20 seconds at most. Returns what it wrote in
 * the administrators' log, or null: nothing, or another node was faster.
 */
export async function takeTurn(deps: TurnDeps, due: DueRow): Promise<Reported | null> {
  const at = new Date(deps.now())
  const turn = randomUUID()
  const row = await beginTurn(deps.sql, due, { turn, at, until: new Date(at.getTime() + leaseMs) })
  return row ? await new Turn(deps, due, turn, row).run() : null
}

/** Events of a record, by position. */
type Chain = readonly EventRow[]

class Turn {
  readonly #deps: TurnDeps
  readonly #due: DueRow
  readonly #turn: string
  readonly #endpoint: WebhookRow
  readonly #started: number
  #position: number
  #undelivered: Map<number, Undelivered>
  #failures: number
  #attempts: WebhookAttempt[]
  #isGone = false
  /** Of an endpoint that is down: one event that failed, and a new one, because the first may be the cause. */
  #isProbe = false

  constructor(deps: TurnDeps, due: DueRow, turn: string, endpoint: WebhookRow) {
    this.#deps = deps
    this.#due = due
    this.#turn = turn
    this.#endpoint = endpoint
    this.#started = deps.now()
    this.#position = endpoint.position
    this.#undelivered = new Map(endpoint.undelivered.map(each => [each.position, each]))
    this.#failures = endpoint.failures
    this.#attempts = [...endpoint.attempts]
  }

  async run(): Promise<Reported | null> {
    const { sql, signal } = this.#deps
    await placeEntries({ sql, signal: AbortSignal.any([signal, AbortSignal.timeout(requestMs)]) }, this.#due.account_id)
    for (;;) {
      const isAtEnd = !(await this.#deliverPage())
      const isOver = isAtEnd || signal.aborted || this.#isGone || this.#deps.now() - this.#started > maxTurnMs
      if (!(await this.#save(isOver))) return null
      if (isOver) break
    }
    return await this.#report()
  }

  /** Returns false if there is nothing left to do now. */
  async #deliverPage(): Promise<boolean> {
    this.#isProbe = this.#failures >= downAfter
    const before = this.#position
    const chains = this.#chainsOf([...(await this.#listAgain()), ...(await this.#listFresh())])
    let next = 0
    const work = async () => {
      for (let chain = chains[next++]; chain; chain = chains[next++]) await this.#deliverChain(chain)
    }
    await Promise.all(Array.from({ length: this.#isProbe ? 1 : maxInFlight }, work))
    if (this.#isProbe && this.#failures < downAfter) this.#retryNow()
    return this.#failures < downAfter && (chains.length > 0 || this.#position > before)
  }

  /** Undelivered events whose time has come, with those that waited for them. */
  async #listAgain(): Promise<EventRow[]> {
    const now = this.#deps.now()
    const all = [...this.#undelivered.values()].sort((a, b) => a.position - b.position)
    const late = firstOfRecords(all).filter(({ next }) => next > now)
    const blocked = new Set(late.map(({ record }) => record))
    const ready = this.#isProbe ? pickOne(firstOfRecords(all)) : all.filter(({ record }) => !blocked.has(record))
    if (ready.length === 0) return []
    const { sql } = this.#deps
    const positions = ready.map(({ position }) => position)
    const rows = new Map(
      (await listEventRowsAt(sql, this.#due.account_id, positions)).map(row => [row.position, row] as const),
    )
    for (const position of positions) if (!rows.has(position)) this.#undelivered.delete(position) // a backup without it
    return positions.flatMap(position => rows.get(position) ?? [])
  }

  /** New events, at most as many as may become undelivered. Moves the position behind them. */
  async #listFresh(): Promise<EventRow[]> {
    const free = Math.min(maxUndelivered - this.#undelivered.size, this.#isProbe ? 1 : maxUndelivered)
    if (free <= 0) return []
    const rows = await listEventRows(this.#deps.sql, this.#due.account_id, this.#position, eventsPerPage)
    const wanted: EventRow[] = []
    for (const row of rows) {
      if (wanted.length === free) break
      this.#position = row.position
      if (!this.#isWanted(row)) continue
      wanted.push(row)
      this.#wait(row)
    }
    return wanted
  }

  #isWanted(row: EventRow): boolean {
    const { types, site_ids } = this.#endpoint
    if (site_ids !== null && !site_ids.includes(row.site_id ?? '')) return false
    return types === null || types.includes(this.#eventOf(row).type)
  }

  #eventOf(row: EventRow): Event {
    return toEvent(this.#due.account_id, row)
  }

  /** Until it is delivered, a node that takes over finds it here. */
  #wait({ position, record_id }: EventRow): void {
    const record = record_id === this.#due.account_id ? null : record_id
    const at = this.#deps.now()
    this.#undelivered.set(position, { position, record, failed: 0, since: at, next: at })
  }

  /** Without records of which an earlier event waits for another time. */
  #chainsOf(items: readonly EventRow[]): Chain[] {
    const chains = new Map<string, Chain>()
    const first = firstOfRecords([...this.#undelivered.values()].sort((a, b) => a.position - b.position))
    for (const item of items) {
      const chain = chains.get(item.record_id) ?? []
      if (chain.length > 0 || first.some(({ position }) => position === item.position))
        chains.set(item.record_id, [...chain, item])
    }
    return [...chains.values()]
  }

  /** Ends at the first failure: the rest of the record waits. */
  async #deliverChain(chain: Chain): Promise<void> {
    const { sender, signal } = this.#deps
    for (const row of chain) {
      const isOver = this.#deps.now() - this.#started > maxTurnMs + maxAttemptMs
      const isDown = !this.#isProbe && this.#failures >= downAfter
      if (signal.aborted || isOver || isDown || this.#isGone) return
      const message = {
        id: `${this.#due.id}_${row.position}`,
        body: JSON.stringify(this.#eventOf(row)),
        position: row.position,
      }
      const attempt = await sender.send(this.#endpoint, message, signal)
      if (signal.aborted && attempt.status === null) return
      this.#deps.onAttempt?.(attempt)
      this.#attempts = [attempt, ...this.#attempts].slice(0, maxAttempts)
      if (attempt.problem !== null) return this.#fail(row.position, attempt)
      this.#undelivered.delete(row.position)
      this.#failures = 0
    }
  }

  #fail(position: number, { status }: WebhookAttempt): void {
    const before = this.#undelivered.get(position)
    if (!before) return
    const failed = before.failed + 1
    const now = this.#deps.now()
    const since = before.failed === 0 ? now : before.since
    this.#undelivered.set(position, { ...before, failed, since, next: now + pauseMs(failed) })
    if (this.#isProbe || this.#failures < downAfter) this.#failures += 1 // those in flight together are one failure of it
    if (status === 410) this.#isGone = true
  }

  #retryNow(): void {
    const next = this.#deps.now()
    for (const each of this.#undelivered.values()) this.#undelivered.set(each.position, { ...each, next })
  }

  #save(isOver: boolean): Promise<boolean> {
    const now = this.#deps.now()
    const down = this.#failures >= downAfter ? pauseMs(this.#failures - downAfter + 1) : 0
    const undelivered = [...this.#undelivered.values()].sort((a, b) => a.position - b.position)
    const times = firstOfRecords(undelivered).map(({ next }) => next)
    return saveProgress(this.#deps.sql, this.#due, this.#turn, {
      position: this.#position,
      undelivered,
      retryAt: times.length > 0 ? new Date(Math.min(...times)) : null,
      failures: this.#failures,
      attempts: this.#attempts,
      nextTurnAt: new Date(now + (isOver ? down : leaseMs)),
    })
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

/** The others of a record wait for its first. */
function firstOfRecords(byPosition: readonly Undelivered[]): Undelivered[] {
  const records = new Set<string | null>()
  return byPosition.filter(({ record }) => !records.has(record) && records.add(record))
}

function pickOne<T>(items: readonly T[]): T[] {
  const index = Math.floor(Math.random() * items.length)
  return items.slice(index, index + 1)
}

/** Twice as long after each failure, up to an hour, by a fifth more or less. */
function pauseMs(failed: number): number {
  return Math.min(firstPauseMs * 2 ** Math.min(failed - 1, 20), longestPauseMs) * (0.8 + 0.4 * Math.random())
}
