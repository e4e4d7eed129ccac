import type { ReservedSql, Sql } from 'postgres'
import { inTransaction } from './transaction.ts'

/** A statement of postgres.js as its pool sees it: it is handed over when somebody first waits for it. */
interface Statement extends Promise<unknown> {
  handler: (statement: Statement) => void
  reject(error: Error): void
}

/** A pool of the driver's with one connection, which is never used again once that has closed. */
interface Slot {
  readonly sql: Sql
  isGone: boolean
}

/** How long a statement may wait for a connection, and a connection owe its answer, in milliseconds. */
const patience = { turn: 5000, answer: 5500 } as const

/**
 * A pool of connections each of which is thrown away when it closes. postgres.js 3.4.9 keeps part of a connection's state
 * over its end (what was to be written, how many rows had come), so that the next one in its place hangs, or loses rows:
 * a record that is there would be answered with 404. It also waits for ever for a connection that has fallen silent, and
 * runs statements that nobody waits for any more.
 */
export class Pool {
  readonly #open: (onclose: () => void) => Sql
  readonly #max: number
  readonly #slots = new Set<Slot>()
  readonly #idle: Slot[] = []
  #waiting: { readonly statement: Statement; readonly until: number }[] = []
  #isEnded = false

  /** `open` makes a driver's pool of one connection, and has it call back when that closes. */
  constructor(open: (onclose: () => void) => Sql, max: number) {
    this.#open = open
    this.#max = max
  }

  /** The pool in the form of the driver's own, with its transactions and its end. */
  get sql(): Sql {
    const builder = this.#open(() => {})
    const own: Record<string, unknown> = {
      begin: (work: (tx: ReservedSql) => Promise<unknown>) => this.#begin(work),
      end: (options?: { timeout?: number }) => this.#end(options),
    }
    return new Proxy(builder, {
      apply: (_target, _this, args: Parameters<Sql>) => {
        const built: unknown = builder(...args)
        if (built instanceof Promise) (built as Statement).handler = statement => this.#dispatch(statement)
        return built
      },
      get: (_target, name: string) => own[name] ?? builder[name as keyof Sql],
    })
  }

  async #begin<T>(work: (tx: ReservedSql) => Promise<T>): Promise<T> {
    const single = this.#open(() => {})
    try {
      return await inTransaction(single, work)
    } finally {
      await single.end()
    }
  }

  async #end(options?: { timeout?: number }): Promise<void> {
    this.#isEnded = true
    this.#next()
    await Promise.all([...this.#slots].map(({ sql }) => sql.end(options)))
  }

  #dispatch(statement: Statement): void {
    this.#waiting.push({ statement, until: performance.now() + patience.turn })
    this.#next()
  }

  #next(): void {
    while (this.#isEnded || this.#idle.length > 0 || this.#slots.size < this.#max) {
      const next = this.#waiting.shift()
      if (!next) return
      if (this.#isEnded) next.statement.reject(trouble('CONNECTION_ENDED'))
      else if (next.until < performance.now()) next.statement.reject(trouble('CONNECT_TIMEOUT'))
      else this.#run(this.#idle.pop() ?? this.#add(), next.statement)
    }
  }

  #add(): Slot {
    const slot: Slot = { sql: this.#open(() => this.#discard(slot)), isGone: false }
    this.#slots.add(slot)
    return slot
  }

  #run(slot: Slot, statement: Statement): void {
    const timer = setTimeout(() => {
      statement.reject(trouble('CONNECTION_CLOSED'))
      this.#discard(slot)
    }, patience.answer)
    const done = (error?: unknown) => {
      clearTimeout(timer)
      if (endsConnection(error)) this.#discard(slot)
      if (!slot.isGone) this.#idle.push(slot)
      this.#next()
    }
    statement.then(() => done(), done)
    handlerOf(slot.sql)(statement)
  }

  #discard(slot: Slot): void {
    if (slot.isGone) return
    slot.isGone = true
    this.#slots.delete(slot)
    const index = this.#idle.indexOf(slot)
    if (index >= 0) this.#idle.splice(index, 1)
    slot.sql.end({ timeout: 0 }).catch(() => {})
    this.#next()
  }
}

/** An error of the connection itself, or the last word of its backend. */
function endsConnection(error: unknown): boolean {
  if (error === undefined) return false
  const { name, severity } = error as { name?: string; severity?: string }
  return name !== 'PostgresError' || severity === 'FATAL' || severity === 'PANIC'
}

/** What a driver's pool does with a statement that somebody waits for. */
function handlerOf(sql: Sql): Statement['handler'] {
  return (sql`` as unknown as Statement).handler
}

function trouble(code: string): Error {
  return Object.assign(new Error('the database did not answer'), { code })
}
