import type { ReservedSql, Sql } from 'postgres'
import type { Connection, Hosts } from './hosts.ts'
import { connectionError, endsConnection, inTransaction, type Statement } from './transaction.ts'

interface Waiting {
  readonly statement: Statement
  readonly deadline: number
}

const queueTimeoutMs = 5000

/** The statement timeout is 5 s. */
const answerTimeoutMs = 5500

/**
 * Replaces the driver's pool (README.md gives the reasons). A failed connection is never used again. Statements are
 * prepared until a backend does not recognize one: a pooler assigns backends per transaction.
 */
export class Pool {
  readonly #hosts: Hosts
  readonly #max: number
  readonly #isUnlimited: boolean
  readonly #connections = new Set<Connection>()
  readonly #idle: Connection[] = []
  readonly #queue: Waiting[] = []
  #connecting = 0
  #isEnded = false
  #isPrepared = true

  /** `isUnlimited`: only connecting has a timeout. */
  constructor(hosts: Hosts, { max, isUnlimited = false }: { readonly max: number; readonly isUnlimited?: boolean }) {
    this.#hosts = hosts
    this.#max = max
    this.#isUnlimited = isUnlimited
  }

  get sql(): Sql {
    const builder = this.#hosts.openIdle()
    const own: Record<string, unknown> = {
      begin: (work: (tx: ReservedSql) => Promise<unknown>) => this.#begin(work),
      end: (options?: { timeout?: number }) => this.#end(options),
    }
    return new Proxy(builder, {
      apply: (_target, _this, args: Parameters<Sql>) => {
        const built: unknown = builder(...args)
        if (built instanceof Promise) (built as Statement).handler = statement => this.#enqueue(statement)
        return built
      },
      get: (_target, name: string) => own[name] ?? builder[name as keyof Sql],
    })
  }

  async #begin<T>(work: (tx: ReservedSql) => Promise<T>): Promise<T> {
    let connection: Connection | undefined
    let fail = () => {}
    const lost = new Promise<never>((_, reject) => {
      fail = () => reject(connectionError('CONNECTION_CLOSED'))
    })
    const discard = (closed: Connection) => {
      this.#discard(closed)
      if (closed === connection) fail()
    }
    connection = await this.#hosts.connect(discard, this.#isPrepared)
    const { sql } = connection
    try {
      // The driver may never settle a statement whose connection is lost.
      return await Promise.race([inTransaction(sql, work, () => connection?.isClosed === true), lost])
    } finally {
      this.#discard(connection)
    }
  }

  async #end(options?: { timeout?: number }): Promise<void> {
    this.#isEnded = true
    this.#dispatch()
    await Promise.all([...this.#connections].map(({ sql }) => sql.end(options)))
  }

  #enqueue(statement: Statement): void {
    this.#queue.push({
      statement,
      deadline: this.#isUnlimited ? Number.POSITIVE_INFINITY : performance.now() + queueTimeoutMs,
    })
    this.#dispatch()
  }

  #dispatch(): void {
    while (this.#isEnded || this.#idle.length > 0 || this.#connections.size + this.#connecting < this.#max) {
      const next = this.#queue.shift()
      if (!next) return
      if (this.#isEnded) next.statement.reject(connectionError('CONNECTION_ENDED'))
      else if (next.deadline < performance.now()) next.statement.reject(connectionError('CONNECT_TIMEOUT'))
      else {
        const idle = this.#idle.pop()
        if (idle) void this.#run(idle, next.statement)
        else void this.#addConnection(next)
      }
    }
  }

  async #addConnection(waiting: Waiting): Promise<void> {
    this.#connecting += 1
    try {
      const connection = await this.#connect()
      if (this.#isEnded) this.#discard(connection)
      if (!connection.isClosed) {
        this.#connections.add(connection)
        this.#idle.push(connection)
      }
      this.#queue.unshift(waiting)
    } catch (error) {
      waiting.statement.reject(error as Error)
    } finally {
      this.#connecting -= 1
      this.#dispatch()
    }
  }

  #connect(): Promise<Connection> {
    return this.#hosts.connect(connection => this.#discard(connection), this.#isPrepared)
  }

  async #run(connection: Connection, statement: Statement): Promise<void> {
    const abandon = () => {
      statement.reject(connectionError('CONNECTION_CLOSED'))
      this.#discard(connection)
    }
    const timer = this.#isUnlimited ? undefined : setTimeout(abandon, answerTimeoutMs)
    handlerOf(connection.sql)(statement)
    try {
      await statement
    } catch (error) {
      if (endsConnection(error)) this.#discard(connection)
      // The driver adds the rows of a failed statement to the next one.
      else await connection.sql`select 1`.catch(() => this.#discard(connection))
    } finally {
      clearTimeout(timer)
    }
    if (wasForgotten(statement)) {
      this.#isPrepared = false
      this.#discard(connection)
    }
    if (!connection.isClosed) this.#idle.push(connection)
    this.#dispatch()
  }

  #discard(connection: Connection): void {
    if (connection.isClosed) return
    connection.isClosed = true
    this.#connections.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    connection.sql.end({ timeout: 0 }).catch(() => {})
    this.#dispatch()
  }
}

function handlerOf(sql: Sql): Statement['handler'] {
  return (sql`` as unknown as Statement).handler
}

function wasForgotten({ retried }: Statement): boolean {
  return retried?.code === '26000'
}
