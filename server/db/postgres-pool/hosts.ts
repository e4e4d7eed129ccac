import type { Sql } from 'postgres'

/** A driver's pool of one connection, discarded when that closes. */
export interface Connection {
  readonly sql: Sql
  isClosed: boolean
}

export type Open = (options: { readonly onclose: () => void; readonly prepare: boolean }) => Sql

const connectTimeoutMs = 5000

export class Hosts {
  readonly #opens: [Open, ...Open[]]
  readonly #isReplica: boolean

  constructor(opens: readonly [Open, ...Open[]], isReplica: boolean) {
    this.#opens = [...opens]
    this.#isReplica = isReplica
  }

  /** Creates a pool that builds statements and never connects. */
  openIdle(): Sql {
    return this.#opens[0]({ onclose: () => {}, prepare: true })
  }

  /**
   * Tries the last host first. Calls `discard` with each connection that fails or closes. Throws the last host's error.
   */
  async connect(discard: (connection: Connection) => void, prepare: boolean): Promise<Connection> {
    let lastError: unknown
    for (const open of [...this.#opens]) {
      const connection: Connection = {
        sql: open({ onclose: () => discard(connection), prepare }),
        isClosed: false,
      }
      const timer = setTimeout(() => discard(connection), connectTimeoutMs / this.#opens.length)
      try {
        await requireRole(connection.sql, this.#isReplica)
        return connection
      } catch (error) {
        lastError = error
        discard(connection)
        if (this.#opens[0] === open) this.#opens.push(...this.#opens.splice(0, 1))
      } finally {
        clearTimeout(timer)
      }
    }
    throw lastError
  }
}

/** Replaces the driver's `target_session_attrs`, which can end the process (README.md). */
async function requireRole(sql: Sql, isReplica: boolean): Promise<void> {
  const [row] = await sql<{ is_standby: boolean }[]>`select pg_is_in_recovery() as is_standby`
  if (row?.is_standby === isReplica) return
  const role = isReplica ? 'primary' : 'standby'
  throw Object.assign(new Error(`the database is a ${role}`), { code: 'CONNECT_OTHER_ROLE' })
}
