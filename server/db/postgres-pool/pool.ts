import type { ReservedSql, Sql } from 'postgres'
import { dbErrorCode } from '../errors.ts'
import type { Hosts, Slot } from './hosts.ts'

/** A statement of postgres.js as its pool sees it: it is handed over when somebody first waits for it. */
interface Statement extends Promise<unknown> {
  handler: (statement: Statement) => void
  reject(error: Error): void
  /** The error after which the driver has prepared it anew and sent it again. */
  readonly retried?: unknown
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

/** Whether the backend knew nothing of a statement that was prepared on its connection (26000). */
function wasForgotten({ retried }: Statement): boolean {
  return dbErrorCode(retried) === '26000'
}

/**
 * Work in one transaction, for what happens before the service listens: a connection that is lost in the middle may take
 * the process with it. It stands in for the driver's own `begin`, which crashes where statements are sent one by one.
 */
export async function inTransaction<T>(sql: Sql, work: (tx: ReservedSql) => Promise<T>): Promise<T> {
  await sql`select 1` // the driver never reserves a connection that is only being opened
  const tx = await sql.reserve()
  try {
    await tx`begin`
    const result = await work(tx)
    await tx`commit`
    return result
  } catch (error) {
    await tx`rollback`.catch(() => {})
    throw error
  } finally {
    tx.release()
  }
}

interface Waiting {
  readonly statement: Statement
  readonly until: number
}

/** How long a statement may wait for a connection, and a connection owe its answer, in milliseconds. */
const patience = { turn: 5000, answer: 5500 } as const

/**
 * A pool of connections each of which is thrown away when it closes. postgres.js 3.4.9 keeps part of a connection's state
 * over its end (what was to be written, how many rows had come), so that the next one in its place hangs, or loses rows:
 * a record that is there would be answered with 404. It also waits for ever for a connection that has fallen silent, and
 * runs statements that nobody waits for any more.
 *
 * Statements are prepared, until one of them is found to be forgotten: then a pooler stands between that has a backend for a
 * transaction only, and each time it finds another one the driver would leave one more copy there.
 */
export class Pool {
  readonly #hosts: Hosts
  readonly #max: number
  readonly #slots = new Set<Slot>()
  readonly #idle: Slot[] = []
  #waiting: Waiting[] = []
  #opening = 0
  #isEnded = false
  #isForgetful = false

  constructor(hosts: Hosts, max: number) {
    this.#hosts = hosts
    this.#max = max
  }

  /** The pool in the form of the driver's own, with its transactions and its end. */
  get sql(): Sql {
    const builder = this.#hosts.idle
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
    const { sql } = await this.#connect()
    try {
      return await inTransaction(sql, work)
    } finally {
      await sql.end()
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
    while (this.#isEnded || this.#idle.length > 0 || this.#slots.size + this.#opening < this.#max) {
      const next = this.#waiting.shift()
      if (!next) return
      if (this.#isEnded) next.statement.reject(trouble('CONNECTION_ENDED'))
      else if (next.until < performance.now()) next.statement.reject(trouble('CONNECT_TIMEOUT'))
      else this.#take(next)
    }
  }

  #take(next: Waiting): void {
    const idle = this.#idle.pop()
    if (idle) this.#run(idle, next.statement)
    else this.#add(next)
  }

  /** Opens one more connection, for a statement that there is none for. */
  #add(waiting: Waiting): void {
    this.#opening += 1
    this.#connect().then(
      slot => {
        this.#opening -= 1
        if (this.#isEnded) this.#discard(slot)
        if (!slot.isGone) this.#keep(slot)
        this.#waiting.unshift(waiting)
        this.#next()
      },
      error => {
        this.#opening -= 1
        waiting.statement.reject(error)
        this.#next()
      },
    )
  }

  #connect(): Promise<Slot> {
    return this.#hosts.connect(slot => this.#discard(slot), !this.#isForgetful)
  }

  #keep(slot: Slot): void {
    this.#slots.add(slot)
    this.#idle.push(slot)
  }

  #run(slot: Slot, statement: Statement): void {
    const timer = setTimeout(() => {
      statement.reject(trouble('CONNECTION_CLOSED'))
      this.#discard(slot)
    }, patience.answer)
    const done = (error?: unknown) => {
      clearTimeout(timer)
      if (wasForgotten(statement)) this.#isForgetful = true
      if (endsConnection(error) || wasForgotten(statement)) this.#discard(slot)
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
