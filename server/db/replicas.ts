import type { Sql } from 'postgres'
import { withTimeout } from './errors.ts'

const maxLagMs = 60_000

/** Twice the lag: clocks may differ. */
export const replicaMinAgeMs = 2 * maxLagMs

const checkTimeoutMs = 500
const readTimeoutMs = 2000

const healthyIntervalMs = 1000
const unhealthyIntervalMs = 5000

interface Replica {
  readonly sql: Sql
  isHealthy: Promise<boolean>
  nextCheck: number
}

/** Replicas that lag by less than a minute, used in turn. */
export class Replicas {
  readonly #replicas: Replica[]

  constructor(pools: readonly Sql[]) {
    this.#replicas = pools.map(sql => ({ sql, isHealthy: Promise.resolve(false), nextCheck: 0 }))
  }

  async read<T>(primary: Sql, read: (sql: Sql) => Promise<T>): Promise<T> {
    for (const replica of [...this.#replicas]) {
      if (!(await this.#check(replica))) continue
      this.#replicas.push(...this.#replicas.splice(this.#replicas.indexOf(replica), 1))
      try {
        return await withTimeout(read(replica.sql), readTimeoutMs)
      } catch {
        replica.isHealthy = Promise.resolve(false)
        replica.nextCheck = performance.now() + unhealthyIntervalMs
        break
      }
    }
    return await read(primary)
  }

  #check(replica: Replica): Promise<boolean> {
    if (performance.now() < replica.nextCheck) return replica.isHealthy
    replica.nextCheck = Number.POSITIVE_INFINITY
    replica.isHealthy = withTimeout(isCurrent(replica.sql), checkTimeoutMs).catch(() => false)
    replica.isHealthy.then(isHealthy => {
      replica.nextCheck = performance.now() + (isHealthy ? healthyIntervalMs : unhealthyIntervalMs)
    })
    return replica.isHealthy
  }
}

/** Also returns false if nothing was committed for a minute. */
async function isCurrent(sql: Sql): Promise<boolean> {
  const since = new Date(Date.now() - maxLagMs)
  const [row] = await sql<{ is_current: boolean | null }[]>`
    select pg_is_in_recovery() and pg_last_xact_replay_timestamp() > ${since} as is_current`
  return row?.is_current ?? false
}
