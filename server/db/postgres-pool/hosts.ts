import type { Sql } from 'postgres'

/** A driver's pool of a single connection, discarded when that closes. */
export interface Connection {
  readonly sql: Sql
  isClosed: boolean
}

export type Open = (options: { readonly onclose: () => void; readonly prepare: boolean }) => Sql

/** Shared equally by the hosts. */
const connectTimeoutMs = 5000

/** Hosts of a database, of which one accepts connections at a time: a primary among its standbys. */
export class Hosts {
  readonly #opens: [Open, ...Open[]]

  constructor(opens: readonly [Open, ...Open[]]) {
    this.#opens = [...opens]
  }

  /** Makes a pool that never connects, to build statements with. */
  openIdle(): Sql {
    return this.#opens[0]({ onclose: () => {}, prepare: true })
  }

  /**
   * Tries the host of the last connection first. Calls `discard` with each connection that fails or closes. Throws the error of
   * the last host.
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
        await connection.sql`select 1`
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
