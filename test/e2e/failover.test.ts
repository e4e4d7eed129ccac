import { setTimeout as delay } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { Replicas } from '../../server/db/replicas.ts'
import { firstIdAt } from '../../server/ids.ts'
import type { Consent } from '../../src/contract/index.ts'
import { useFolder } from '../support/cli.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { newAccount } from '../support/service.ts'
import {
  canBreakDatabase,
  expectPromisesKept,
  isSuccess,
  msUntil,
  msUntilUnready,
  runFault,
  summary,
} from './database-faults.ts'
import { newLedger, type Target } from './ledger.ts'
import { findContradictions } from './ledger-check.ts'

describe.skipIf(!canBreakDatabase)('service › with a synchronous standby', () => {
  const folder = useFolder()
  let primary: PostgresServer
  let standby: PostgresServer
  let first: Sql
  let second: Sql
  let server: ServerProcess
  let target: Target
  let reader: ServerProcess

  beforeAll(async () => {
    primary = await startPostgres({ durable: true })
    standby = await startPostgres({ durable: true, standbyOf: primary })
    first = open(primary)
    second = open(standby)
    await first`alter system set synchronous_standby_names = '*'`
    await first`select pg_reload_conf()`
    const hosts = [standby, primary].map(({ url }) => new URL(url).host).join(',')
    const args = ['--database-url', `postgres://postgres@${hosts}/postgres`, '--port', '0']
    server = await startServer(args, { HOME: folder.path, LOG_LEVEL: 'error' })
    const env = { HOME: folder.path, READ_DATABASE_URL: `${standby.url}/postgres`, LOG_LEVEL: 'error' }
    reader = await startServer(['--database-url', `${primary.url}/postgres`, '--port', '0'], env)
    target = { url: server.url, ...(await newAccount(first)) }
  })
  afterAll(async () => {
    await Promise.all([server, reader].map(one => one?.end('SIGKILL')))
    await Promise.all([first, second].map(sql => sql?.end({ timeout: 1 })))
    await Promise.all([primary, standby].map(one => one?.remove()))
  })

  describe('when lists are read from the standby', () => {
    const list = async (query: string) => {
      const { statusCode, body } = await request(`${reader.url}/api/v1/consents?${query}`, {
        headers: { authorization: `Bearer ${target.key}` },
      })
      expect(statusCode).toBe(200)
      return (await body.json()) as { data: Consent[]; next_cursor: string | null }
    }
    const shown = ({ data }: { data: Consent[] }) => data.map(({ preferences }) => preferences?.['state'])
    const hour = 60 * 60 * 1000
    const old = `to=${new Date(Date.now() - hour).toISOString()}`
    beforeAll(async () => {
      await write(reader.url, target, 'before')
      for (const age of [2, 3, 4])
        await first`
          insert into consents
          select (json_populate_record(c, json_build_object(
            'id', ${firstIdAt(Date.now() - age * hour)}::text, 'created_at', now() - ${`${age} hours`}::interval))).*
          from consents c where account_id = ${target.accountId} limit 1`
      await replayed(first, second)
      await second`select pg_wal_replay_pause()`
      await first`update consents set preferences = '{"state":"after"}' where account_id = ${target.accountId}`
    })
    afterAll(async () => void (await second`select pg_wal_replay_resume()`))

    it('sends it only reads of old pages, and none that prove an erasure', async () => {
      expect(shown(await list('limit=1'))).toEqual(['after'])
      expect(shown(await list(old))).toEqual(['before', 'before', 'before'])
      expect(shown(await list(`${old}&site_id=${target.siteId}`))).toEqual(['before', 'before', 'before'])
      for (const filter of ['subject_id=maria', 'consent_id=label', 'accepted=false'])
        expect(shown(await list(`${old}&${filter}`))).toEqual(['after', 'after', 'after'])
    })

    it('lists every record, including those that the standby lacks', async () => {
      for (let count = 0; count < 5; count += 1) await write(reader.url, target, 'new')
      const states = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const page = await list(`limit=1${cursor && `&cursor=${cursor}`}`)
        states.push(...shown(page))
        cursor = page.next_cursor
      }
      const news = Array.from({ length: 5 }, () => 'new')
      expect(states).toEqual([...news, 'after', 'after', 'before', 'before'])
    })

    it('does not use the standby when it is over a minute behind, silent or gone', async () => {
      const where = async (sql: Sql) => (await sql<{ standby: boolean }[]>`select pg_is_in_recovery() as standby`)[0]
      const there = connect({ target: { url: `${standby.url}/postgres` }, max: 1, isReplica: true })
      expect(await new Replicas([there]).read(first, where)).toEqual({ standby: true })
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
      expect(await new Replicas([there]).read(first, where)).toEqual({ standby: false })
      vi.useRealTimers()
      const other = connect({ target: { url: `${primary.url}/postgres` }, max: 1, isReplica: true })
      expect(await new Replicas([other, there]).read(first, where)).toEqual({ standby: true })
      const replicas = new Replicas([there])
      await replicas.read(first, where)
      standby.signal('SIGSTOP')
      const began = performance.now()
      expect(await replicas.read(first, where)).toEqual({ standby: false })
      expect(performance.now() - began).toBeLessThan(2500)
      expect(await replicas.read(first, where)).toEqual({ standby: false })
      standby.signal('SIGCONT')
      await Promise.all([there, other].map(sql => sql.end({ timeout: 1 })))
    })
  })

  it('when the primary is killed and the standby promoted, continues without losing a write', async () => {
    const ledger = newLedger()
    let [goneAt, promotingAt] = [0, 0]
    const account = { url: server.url, ...(await newAccount(first)) }
    const report = await runFault(account, ledger, {
      begin: async () => {
        await primary.end('SIGKILL')
        goneAt = performance.now()
      },
      durationMs: 1500,
      end: async () => {
        promotingAt = performance.now()
        await second`select pg_promote(true, 60)`
      },
      recoveryMs: 3000,
    })
    process.stderr.write(summary('the primary is killed', report))
    expectPromisesKept(server, report)
    expect(msUntilUnready(report)).toBeLessThan(2000)
    const alone = [...report.requests, ...report.served, ...report.ready].filter(
      ({ at }) => at > goneAt && at < promotingAt,
    )
    expect(alone.length).toBeGreaterThan(20)
    const ended = alone.filter(({ at, durationMs }) => at + durationMs < promotingAt)
    expect(ended.filter(({ status }) => isSuccess(status))).toEqual([])
    expect(msUntil(report.ready, report.returnedAt, isSuccess)).toBeLessThan(3000)
    expect(await findContradictions(account, second, ledger)).toEqual([])
  })
})

async function write(url: string, { key, siteId }: Target, state: string): Promise<void> {
  const draft = { site_id: siteId, subject_id: 'maria', consent_id: 'label', preferences: { state } }
  const { statusCode, body } = await request(`${url}/api/v1/consents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(draft),
  })
  await body.dump()
  expect(statusCode).toBe(201)
}

/** Waits until a standby shows what its primary has. */
async function replayed(primary: Sql, standby: Sql): Promise<void> {
  const [now] = await primary<{ lsn: string }[]>`select pg_current_wal_lsn()::text as lsn`
  for (;;) {
    const [row] = await standby<{ there: boolean }[]>`
      select pg_last_wal_replay_lsn() >= ${now?.lsn ?? ''}::pg_lsn as there`
    if (row?.there) return
    await delay(20)
  }
}

function open({ url }: PostgresServer): Sql {
  return postgres(`${url}/postgres`, { max: 4, onnotice: () => {} })
}
