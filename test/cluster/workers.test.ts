import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { migrate } from '../../server/db/migrate.ts'
import { coverAll } from '../../server/evidence/log.ts'
import { openSigner } from '../../server/evidence/signer.ts'
import { newId } from '../../server/ids.ts'
import { countAll } from '../../server/stats/counting.ts'
import { type CitusCluster, startCitus } from '../support/citus.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import { createDatabase } from '../support/databases.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { newAccount, type TestAccount } from '../support/service.ts'

const folder = useFolder()
let cluster: CitusCluster
let url: string
let sql: Sql
let node: ServerProcess
/** An account on each worker, in their order. */
let accounts: TestAccount[]

beforeAll(async () => {
  cluster = await startCitus()
  url = await createDatabase(cluster.coordinator.url, 'service')
  sql = connect({ target: { url }, max: 4 })
  await migrate(sql)
  accounts = await Promise.all(cluster.workers.map(worker => newAccountOn(new URL(worker.url).port)))
  node = await start()
})
afterAll(async () => {
  await node?.end('SIGTERM')
  await sql?.end({ timeout: 2 })
  await cluster?.remove()
})

async function newAccountOn(port: string): Promise<TestAccount> {
  for (;;) {
    const account = await newAccount(sql)
    if ((await portOf(account)) === port) return account
  }
}

async function portOf({ accountId }: TestAccount): Promise<string | undefined> {
  const [row] = await sql<{ port: string }[]>`
    select nodeport::text as port from pg_dist_placement join pg_dist_node using (groupid)
    where shardid = get_shard_id_for_distribution_column('accounts', ${accountId}::uuid)`
  return row?.port
}

const start = () => startServer(['--database-url', url, '--port', '0'], { HOME: folder.path, LOG_LEVEL: 'error' })

async function call(account: TestAccount, method = 'POST', path = '/api/v1/consents', server = node) {
  const startedAt = performance.now()
  const answer = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
    ...(method === 'POST' && { body: JSON.stringify({ site_id: account.siteId }) }),
  })
  return { status: answer.status, text: await answer.text(), ms: performance.now() - startedAt }
}

async function statusesOf(account: TestAccount, server = node): Promise<number[]> {
  const paths = [
    '/api/v1/consents',
    '/api/v1/stats',
    `/api/v1/sites/${account.siteId}/notices`,
    '/api/v1/log/checkpoint',
    '/api/v1/audit',
  ]
  const answers = await Promise.all([
    call(account, 'POST', '/api/v1/consents', server),
    ...paths.map(path => call(account, 'GET', path, server)),
  ])
  return answers.map(({ status }) => status)
}

async function uncovered(account: TestAccount): Promise<number> {
  const rows = await sql`
    select 1 as one from log_entries where account_id = ${account.accountId} and leaf_index is null`
  return rows.length
}

const signal = new AbortController().signal

describe.each([
  ['dead', 'SIGQUIT'],
  ['hanging', 'SIGSTOP'],
] as const)('a %s worker of a Citus cluster', (_what, way) => {
  let own: TestAccount
  let other: TestAccount
  beforeAll(async () => {
    const [worker] = cluster.workers
    ;[own, other] = accounts as [TestAccount, TestAccount]
    const signer = await openSigner(sql, null)
    await coverAll({ sql, signer })
    await call(own)
    await call(other)
    if (way === 'SIGSTOP') worker?.signal('SIGSTOP')
    else await worker?.end(way)
  })
  afterAll(async () => {
    const [worker] = cluster.workers
    if (way === 'SIGSTOP') worker?.signal('SIGCONT')
    else await worker?.start()
    await vi.waitFor(async () => expect((await call(own)).status).toBe(201), { timeout: 10_000 })
  })

  it('stops the requests of its own accounts alone, with 503', async () => {
    const [mine, others] = await Promise.all([statusesOf(own), statusesOf(other)])
    expect(new Set(mine)).toEqual(new Set([503]))
    expect(others).toEqual([201, 200, 200, 200, 200, 200])
  })

  it('does not keep a node from starting and writing', async () => {
    const second = await start()
    try {
      await delay(2500) // a node notices a read-only database within that time
      expect((await fetch(`${second.url}/writable`)).status).toBe(200)
      expect(await statusesOf(other, second)).toEqual([201, 200, 200, 200, 200, 200])
    } finally {
      await second.end('SIGTERM')
    }
  })

  it('does not keep the other accounts from checkpoints and statistics', async () => {
    const signer = await openSigner(sql, null)
    expect((await call(other)).status).toBe(201)
    await expect(coverAll({ sql, signer })).rejects.toThrow('left out')
    expect(await uncovered(other)).toBe(0)
    await expect(countAll(sql, { signal, isModest: false })).rejects.toThrow('left out')
    const [counted] = await sql<{ leaves: number }[]>`
      select leaves::integer from statistics_progress where account_id = ${other.accountId}`
    expect(counted?.leaves).toBeGreaterThan(0)
  })

  it('refuses new accounts, and names the reason', async () => {
    const args = ['admin', 'account', 'create', '--email', `${newId()}@example.com`, '--database-url', url]
    const { code, stderr } = await runBinary(args, { env: { HOME: folder.path } })
    expect([code, stderr]).toEqual([7, expect.stringContaining('server of the cluster')])
  })
})
