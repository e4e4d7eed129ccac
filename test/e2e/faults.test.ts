import { setTimeout as delay } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { describe, it } from 'vitest'
import { isLongRun } from './campaign.ts'
import { canBreakDatabase, type Fault, type FaultyDatabase, useFaultyDatabase } from './database-faults.ts'

const connections = 40

describe.skipIf(!canBreakDatabase)('service › responds to every request in time and loses nothing', () => {
  const database = useFaultyDatabase({ proxied: true, settings: [`max_connections=${connections}`] })
  /** What befalls the database, and how long in milliseconds, in the short form and in the long one. */
  const faults: [name: string, times: [short: number, long: number], Omit<Fault, 'durationMs'>][] = [
    ['its table is locked', [5200, 15_000], lockedTable(database)],
    ['it has too many connections', [0, 10_000], tooManyConnections(database)],
    ['its connections are reset every 100 ms', [500, 10_000], again(() => database.proxy.reset())],
    ['its connections are half closed every 100 ms', [0, 10_000], again(() => database.proxy.halfClose())],
    ['its connections are slow', [0, 10_000], slowness(database, 200)],
    ['one of its backends hangs', [0, 15_000], hangingBackend(database)],
    // Those who tried to connect in the dark find out when their own patience ends.
    ['its connections go silent for ever', [500, 20_000], { ...silence(database), recoveryMs: 6500 }],
  ]
  const chosen = faults.filter(([, [short]]) => isLongRun || short > 0)

  it.each(chosen)('while %s', { timeout: 300_000 }, async (name, [short, long], fault) => {
    await database.runUnderLoad(name, { ...fault, durationMs: isLongRun ? long : short })
  })
})

function lockedTable(database: FaultyDatabase) {
  let release = () => {}
  let held: Promise<unknown>
  return {
    begin: () =>
      new Promise<void>(resolve => {
        held = database.sql.begin(async tx => {
          await tx`lock table consents in access exclusive mode`
          resolve()
          await new Promise<void>(done => {
            release = done
          })
        })
      }),
    end: async () => {
      release()
      await held
    },
  }
}

/** Others take every connection there is, those of the server too. */
function tooManyConnections(database: FaultyDatabase) {
  let others: Sql[] = []
  const take = async () => {
    const other = postgres(`${database.postgres.url}/postgres`, { max: 1, onnotice: () => {} })
    await other`select 1`
    others.push(other)
    return true
  }
  return {
    begin: async () => {
      await endBackends(database)
      await Promise.allSettled(Array.from({ length: connections }, take))
      await endBackends(database)
      while (await take().catch(() => false)) {
        // until none is left
      }
    },
    end: async () => {
      await Promise.all(others.map(other => other.end()))
      others = []
    },
  }
}

function again(work: () => void) {
  let timer: NodeJS.Timeout
  return {
    begin: async () => {
      timer = setInterval(work, 100)
    },
    end: async () => clearInterval(timer),
  }
}

function slowness(database: FaultyDatabase, milliseconds: number) {
  return {
    begin: async () => database.proxy.delay(milliseconds),
    end: async () => database.proxy.delay(0),
  }
}

function silence(database: FaultyDatabase) {
  return {
    begin: async () => database.proxy.blackhole(true),
    end: async () => database.proxy.blackhole(false),
  }
}

function hangingBackend(database: FaultyDatabase) {
  let pid = 0
  return {
    begin: async () => {
      const [row] = await database.sql`
        select pid from pg_stat_activity where application_name = 'consentctl' limit 1`
      pid = row?.['pid']
      process.kill(pid, 'SIGSTOP')
    },
    end: async () => void process.kill(pid, 'SIGCONT'),
  }
}

async function endBackends({ sql }: FaultyDatabase): Promise<void> {
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'consentctl'`
  await delay(20)
}
