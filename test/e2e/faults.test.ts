import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import postgres, { type Sql } from 'postgres'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../support/cli.ts'
import { freePort } from '../support/postgres.ts'
import { startServer } from '../support/server.ts'
import { newAccount } from '../support/service.ts'
import { isLongRun } from './campaign.ts'
import {
  canBreakDatabase,
  type Fault,
  type FaultyDatabase,
  type LoadReport,
  useFaultyDatabase,
} from './database-faults.ts'

const connections = 40

/** Into another month. */
const shiftMs = 40 * 24 * 60 * 60 * 1000

describe.skipIf(!canBreakDatabase)('service › responds to every request in time and loses nothing', () => {
  const folder = useFolder()
  const database = useFaultyDatabase({ proxied: true, settings: [`max_connections=${connections}`] })
  /** What befalls the database, and how long in milliseconds, in the short form and in the long one. */
  const faults: [name: string, times: [short: number, long: number], Omit<Fault, 'durationMs'>][] = [
    ['its table is locked', [5200, 15_000], lockedTable(database)],
    ['its transactions are read-only', [1500, 10_000], readOnly(database)],
    ['it has too many connections', [0, 10_000], tooManyConnections(database)],
    ['its connections are reset every 100 ms', [500, 10_000], again(() => database.proxy.reset())],
    ['its connections are ended by the database every 100 ms', [2000, 60_000], again(() => endBackends(database))],
    ['its connections are half closed every 100 ms', [0, 10_000], again(() => database.proxy.halfClose())],
    ['its connections are slow', [0, 10_000], slowness(database, 200)],
    ['one of its backends hangs', [0, 15_000], hangingBackend(database)],
    // Those who tried to connect in the dark find out at their own timeout.
    ['its connections go silent permanently', [500, 20_000], { ...silence(database), recoveryMs: 6500 }],
  ]
  const chosen = faults.filter(([, [short]]) => isLongRun || short > 0)

  it.each(chosen)('while %s', { timeout: 300_000 }, async (name, [short, long], fault) => {
    const report = await database.runUnderLoad(name, { ...fault, durationMs: isLongRun ? long : short })
    if (name === 'its transactions are read-only') expectReads(report)
  })

  it.each(isLongRun ? [shiftMs, -shiftMs] : [shiftMs])(
    "when the node's clock is %i ms ahead, the node is read-only until the clock is corrected",
    async ahead => {
      const metricsPort = await freePort()
      const preload = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url))
      const server = await startServer(['--database-url', `${database.postgres.url}/postgres`, '--port', '0'], {
        HOME: folder.path,
        NODE_OPTIONS: `--import=${preload}`,
        TEST_CLOCK_SHIFT_MS: String(ahead),
        METRICS_PORT: String(metricsPort),
      })
      const account = await newAccount(database.sql, { monthlyQuota: 1000 })
      const send = async (method: 'GET' | 'POST', path: string, body?: object) => {
        const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
        const answer = await request(server.url + path, {
          method,
          headers,
          ...(body && { body: JSON.stringify(body) }),
        })
        return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> }
      }
      const list = () => send('GET', '/api/v1/consents')
      const create = () => send('POST', '/api/v1/consents', { site_id: account.siteId })
      const setClock = async () => {
        server.child.kill('SIGUSR2')
        await delay(50)
      }
      const reason = `its clock is ${shiftMs / 1000} s ${ahead > 0 ? 'ahead of' : 'behind'} that of the database`
      const expectWrong = async () => {
        expect(await create()).toMatchObject({ status: 503, body: { error: 'read_only' } })
        expect((await list()).status).toBe(200)
        expect((await send('GET', '/ready')).body).toEqual({ status: 'read-only', reason })
        expect((await send('GET', '/writable')).status).toBe(503)
      }
      await expectWrong()
      const metrics = await (await request(`http://127.0.0.1:${metricsPort}/metrics`)).body.text()
      expect(metrics).toMatch(/^consentctl_writable 0$/m)
      const [, offset] = /^consentctl_clock_offset_seconds (\S+)$/m.exec(metrics) ?? []
      expect(Math.abs(Number(offset) - ahead / 1000)).toBeLessThan(1)
      expect(server.output()).toContain('the clock differs from that of the database')
      await setClock()
      expect([(await create()).status, (await send('GET', '/ready')).body]).toEqual([201, { status: 'ok' }])
      await setClock()
      await expectWrong()
      expect(await server.end('SIGTERM')).toBe(0)
      const dates = await database.sql`
      select created_at as at from consents union all select created_at from checkpoints
      union all select held_until from usage union all select month::timestamptz from usage
      union all select last_used_on::timestamptz from api_keys`
      const differences = dates.filter(({ at }) => at !== null).map(({ at }) => Math.abs(at.getTime() - Date.now()))
      expect(differences.length).toBeGreaterThan(3)
      expect(Math.max(...differences)).toBeLessThan(32 * 24 * 60 * 60 * 1000)
      const used = await database.sql`select used::int from usage where account_id = ${account.accountId}`
      expect(used).toEqual([{ used: 3 }])
    },
  )
})

/** Expects that every read was answered, and every write was rejected at once. */
function expectReads({ served, ready, requests, lostAt, returnedAt }: LoadReport): void {
  expect([...served, ...ready].filter(({ status }) => status !== 200)).toEqual([])
  const rejected = requests.filter(({ at, status }) => at > lostAt + 1000 && at < returnedAt && status !== 200)
  expect(rejected.length).toBeGreaterThan(10)
  expect(rejected.filter(({ status, responseBody }) => status !== 503 || !responseBody.includes('read_only'))).toEqual(
    [],
  )
  expect(Math.max(...rejected.map(({ durationMs }) => durationMs))).toBeLessThan(500)
}

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

/** As a provider does when the disk is nearly full. */
function readOnly(database: FaultyDatabase) {
  return {
    begin: async () => {
      await database.sql`alter system set default_transaction_read_only = on`
      await database.sql`select pg_reload_conf()`
    },
    end: async () => {
      await database.sql`alter system reset default_transaction_read_only`
      await database.sql`select pg_reload_conf()`
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

function again(work: () => unknown) {
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
