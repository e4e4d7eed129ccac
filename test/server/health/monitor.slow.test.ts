import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { connect } from '../../../server/db/connect.ts'
import { Monitor } from '../../../server/health/monitor.ts'
import { Quota } from '../../../server/quota/quota.ts'
import { skippedOnCitus } from '../../support/database.ts'
import { type TestAccount, type TestNode, useService } from '../../support/service.ts'

const service = useService()
const root = '/api/v1/consents'
const hasOneBackend = process.env['TEST_ENGINE'] !== 'postgres'
const isSpread = skippedOnCitus('locks of tables, which are on other nodes than the one that is asked for them')
const logged: unknown[] = []
const logger = { info: (...line: unknown[]) => logged.push(line), warn: (...line: unknown[]) => logged.push(line) }
let own: Sql
let monitor: Monitor
let node: TestNode
let account: TestAccount

beforeAll(async () => {
  const [row] = await service.sql<{ name: string }[]>`select current_database() as name`
  own = connect({ target: { url: `${inject('clusterUrl')}/${row?.name}` }, max: 2 })
  monitor = await Monitor.start(own, logger as never)
  const quota = new Quota(service.sql, { canWrite: () => monitor.databaseProblem() === null })
  node = await service.addNode({ state: monitor, quota })
  account = await service.newAccount()
})
afterAll(async () => {
  monitor.stop()
  await own.end()
})

const create = () => node.call('POST', root, { key: account.key, body: { site_id: account.siteId } })
const list = () => node.call('GET', root, { key: account.key })

describe.skipIf(hasOneBackend || isSpread)('health monitor', () => {
  it('reports a slow database as writable', async () => {
    const busy = Array.from({ length: 20 }, () => service.sql`select pg_sleep(0.4)`)
    await Promise.all(busy)
    expect(monitor.databaseProblem()).toBeNull()
  })

  it('reports read-only under a lock that blocks writes, and writable once it is released', {
    timeout: 20_000,
  }, async () => {
    expect((await create()).status).toBe(201)
    await node.quota.settle()
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    const lock = service.sql.begin(async tx => {
      await tx`lock table accounts, usage in access exclusive mode`
      await held
    })
    await delay(50)
    const reads = Array.from({ length: 8 }, async (_, index) => {
      await delay(index * 300)
      return await list()
    })
    await vi.waitFor(() => expect(monitor.databaseProblem()).toMatch(/^a lock/), { timeout: 3000 })
    const start = performance.now()
    const rejected = await create()
    expect([rejected.status, rejected.body.error]).toEqual([503, 'read_only'])
    expect((await node.call('GET', '/ready')).body.status).toBe('read-only')
    expect(performance.now() - start).toBeLessThan(500)
    expect((await Promise.all(reads)).map(({ status }) => status)).toEqual(Array(8).fill(200))
    release()
    await lock
    await vi.waitFor(async () => expect((await create()).status).toBe(201), { timeout: 1000 })
    await node.quota.settle()
    const [row] = await service.sql`select used::int, held::int from usage where account_id = ${account.accountId}`
    expect(row).toMatchObject({ used: 10, held: 0 })
    await vi.waitFor(() =>
      expect(logged.slice(-2)).toEqual([
        [{ reason: expect.stringMatching(/^a lock/) }, 'the service is read-only'],
        ['the service accepts writes again'],
      ]),
    )
  })
})
