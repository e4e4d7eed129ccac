import type { Sql } from 'postgres'

/** How far behind its primary a replica may be that is read from, in milliseconds. */
const mostBehind = 60_000

/** How old what is read must be, in milliseconds: what a replica may lack, and as much for the clocks of nodes and primary. */
export const replicaMinAgeMs = 2 * mostBehind

/** How long a replica may take to say how far it is, and to answer, and how long what it has said counts, in milliseconds. */
const patience = { look: 500, answer: 2000, good: 1000, bad: 5000 } as const

interface Replica {
  readonly sql: Sql
  isGood: Promise<boolean>
  /** By `performance.now()`. */
  until: number
}

/**
 * Standbys of the primary, each asked by itself whether it has all that was committed until a minute ago: one that has goes
 * on to have it. So a read of what is older than that finds no less there than on the primary.
 */
export class Replicas {
  readonly #replicas: Replica[]

  constructor(pools: readonly Sql[]) {
    this.#replicas = pools.map(sql => ({ sql, isGood: Promise.resolve(false), until: 0 }))
  }

  /** Reads from one of them in turn, or from the primary where none is good enough or that one fails. */
  async read<T>(primary: Sql, work: (sql: Sql) => Promise<T>): Promise<T> {
    for (const replica of [...this.#replicas]) {
      if (!(await this.#look(replica))) continue
      this.#replicas.push(...this.#replicas.splice(this.#replicas.indexOf(replica), 1))
      try {
        return await within(work(replica.sql), patience.answer)
      } catch {
        this.#distrust(replica)
        break
      }
    }
    return await work(primary)
  }

  #look(replica: Replica): Promise<boolean> {
    if (performance.now() < replica.until) return replica.isGood
    replica.until = Number.POSITIVE_INFINITY // all who come meanwhile wait for the same answer
    replica.isGood = within(isNear(replica.sql), patience.look).catch(() => false)
    replica.isGood.then(isGood => {
      replica.until = performance.now() + (isGood ? patience.good : patience.bad)
    })
    return replica.isGood
  }

  #distrust(replica: Replica): void {
    replica.isGood = Promise.resolve(false)
    replica.until = performance.now() + patience.bad
  }
}

/** Where nothing was committed for a minute nobody can tell a replica that is near from one that is cut off. */
async function isNear(sql: Sql): Promise<boolean> {
  const since = new Date(Date.now() - mostBehind)
  const [row] = await sql<{ near: boolean | null }[]>`
    select pg_is_in_recovery() and pg_last_xact_replay_timestamp() > ${since} as near`
  return row?.near ?? false
}

async function within<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the replica did not answer in time')), milliseconds)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
