import { setTimeout as delay } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { describe, it } from 'vitest'
import { isLong } from './campaign.ts'
import { type Fault, hasStage, type Stage, useStage } from './database-faults.ts'

const connections = 40

describe.skipIf(!hasStage)('every request is answered in time, and nothing is lost', () => {
  const stage = useStage({ proxied: true, settings: [`max_connections=${connections}`] })
  /** What befalls the database, and how long in milliseconds, in the short form and in the long one. */
  const faults: [name: string, times: [short: number, long: number], Omit<Fault, 'ms'>][] = [
    ['its table is locked', [5200, 15_000], lockedTable(stage)],
    ['it has too many connections', [0, 10_000], tooManyConnections(stage)],
    ['its connections are reset every 100 ms', [500, 10_000], again(() => stage.proxy.reset())],
    ['its connections are half closed every 100 ms', [0, 10_000], again(() => stage.proxy.halfClose())],
    ['its connections are slow', [0, 10_000], slowness(stage, 200)],
    ['one of its backends hangs', [0, 15_000], hangingBackend(stage)],
    // Those who tried to connect in the dark find out when their own patience ends.
    ['its connections go silent for ever', [500, 20_000], { ...darkness(stage), recovery: 6500 }],
  ]
  const chosen = faults.filter(([, [short]]) => isLong || short > 0)

  it.each(chosen)('while %s', { timeout: 300_000 }, async (name, [short, long], fault) => {
    await stage.endure(name, { ...fault, ms: isLong ? long : short })
  })
})

function lockedTable(stage: Stage) {
  let release = () => {}
  let held: Promise<unknown>
  return {
    lose: () =>
      new Promise<void>(resolve => {
        held = stage.sql.begin(async tx => {
          await tx`lock table consents in access exclusive mode`
          resolve()
          await new Promise<void>(done => {
            release = done
          })
        })
      }),
    restore: async () => {
      release()
      await held
    },
  }
}

/** Others take every connection there is, those of the server too. */
function tooManyConnections(stage: Stage) {
  let others: Sql[] = []
  const take = async () => {
    const other = postgres(`${stage.postmaster.url}/postgres`, { max: 1, onnotice: () => {} })
    await other`select 1`
    others.push(other)
    return true
  }
  return {
    lose: async () => {
      await endBackends(stage)
      await Promise.allSettled(Array.from({ length: connections }, take))
      await endBackends(stage)
      while (await take().catch(() => false)) {
        // until none is left
      }
    },
    restore: async () => {
      await Promise.all(others.map(other => other.end()))
      others = []
    },
  }
}

function again(work: () => void) {
  let timer: NodeJS.Timeout
  return {
    lose: async () => {
      timer = setInterval(work, 100)
    },
    restore: async () => clearInterval(timer),
  }
}

function slowness(stage: Stage, milliseconds: number) {
  return {
    lose: async () => stage.proxy.delay(milliseconds),
    restore: async () => stage.proxy.delay(0),
  }
}

function darkness(stage: Stage) {
  return {
    lose: async () => stage.proxy.darken(true),
    restore: async () => stage.proxy.darken(false),
  }
}

function hangingBackend(stage: Stage) {
  let pid = 0
  return {
    lose: async () => {
      const [row] = await stage.sql`
        select pid from pg_stat_activity where application_name = 'consentctl' limit 1`
      pid = row?.['pid']
      process.kill(pid, 'SIGSTOP')
    },
    restore: async () => void process.kill(pid, 'SIGCONT'),
  }
}

async function endBackends({ sql }: Stage): Promise<void> {
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'consentctl'`
  await delay(20)
}
