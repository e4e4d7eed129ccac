import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { type EventPage, type EventQuery, events } from '../contract/events.ts'
import { exit } from '../errors/errors.ts'
import { exitOf, explain } from '../errors/explain.ts'
import { callOptional, instanceLabel } from './messages.ts'

export interface Start {
  readonly after?: number
  readonly from?: string
  readonly newest?: true
}

interface Following extends Start {
  /** Ends at the first page without an event. */
  readonly isOnce: boolean
}

const waitSeconds = 20

/** The service sends at most this many events before their place is kept. */
const pageSize = 100

const longestPauseMs = 30_000

/**
 * Yields pages until the user interrupts it. After the first page, a failure that may pass is a warning, and the
 * request is repeated.
 * @throws CliError `not_offered` (exit 2)
 */
export async function* follow(ctx: Context, { isOnce, ...start }: Following): AsyncGenerator<EventPage> {
  const retries = new Retries(ctx, isOnce)
  let query: EventQuery = start
  while (!ctx.interruption.aborted) {
    const isFirst = query.from !== undefined || query.newest === true
    const wait = query.newest ? 0 : isOnce ? 1 : waitSeconds // a wait gives new entries their positions
    const page = await retries.run(() => read(ctx, { ...query, limit: pageSize, wait }))
    if (!page) continue
    yield page
    if (isOnce && !isFirst && page.data.length === 0 && page.next_after === (query.after ?? null)) return
    query = page.next_after === null ? {} : { after: page.next_after }
  }
}

function read(ctx: Context, query: EventQuery): Promise<EventPage> {
  const without = { message: `${instanceLabel(ctx)} has no feed of events`, hint: 'consentctl list --from 1d' }
  return callOptional(ctx.api, events.list, () => ctx.api.call(events.list, { query }), without)
}

class Retries {
  readonly #ctx: Context
  /** Then a failure ends it, after the client's own retries. */
  readonly #isOnce: boolean
  #hasBegun = false
  #failures = 0

  constructor(ctx: Context, isOnce: boolean) {
    this.#ctx = ctx
    this.#isOnce = isOnce
  }

  /** Null after a failure that may pass, or an interruption. */
  async run<T>(work: () => Promise<T>): Promise<T | null> {
    const { interruption, say } = this.#ctx
    try {
      const result = await work()
      if (this.#failures > 0) await say('connected again')
      else if (!this.#hasBegun) await this.#sayBegun()
      this.#hasBegun = true
      this.#failures = 0
      return result
    } catch (error) {
      if (interruption.aborted) return null
      if (this.#isOnce || !this.#hasBegun || exitOf(error) !== exit.temporary) throw error
      if (this.#failures === 0) await this.#ctx.warn(`${explain(error).message}; trying again`)
      this.#failures += 1
      const pause = Math.min(longestPauseMs, 1000 * 2 ** this.#failures) * (0.5 + Math.random() / 2)
      await delay(pause, undefined, { signal: interruption }).catch(() => {})
      return null
    }
  }

  async #sayBegun(): Promise<void> {
    const { io, say } = this.#ctx
    if (io.err.isTerminal && !this.#isOnce)
      await say(`waiting for events of ${instanceLabel(this.#ctx)}: Ctrl-C ends it`)
  }
}
