import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { coverAll } from '../../server/evidence/log.ts'
import { openSigner } from '../../server/evidence/signer.ts'
import { newId } from '../../server/ids.ts'
import { countAll } from '../../server/stats/counting.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import type { TestAccount } from '../support/service.ts'
import { useClusterService } from './service.ts'

const folder = useFolder()
const service = useClusterService(1)
const start = () => service.start()

async function call(account: TestAccount, method = 'POST', path = '/api/v1/consents', server = service.node) {
  const startedAt = performance.now()
  const answer = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
    ...(method === 'POST' && { body: JSON.stringify({ site_id: account.siteId }) }),
  })
  return { status: answer.status, text: await answer.text(), ms: performance.now() - startedAt }
}

async function statusesOf(account: TestAccount, server = service.node): Promise<number[]> {
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
  const rows = await service.sql`
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
    const [worker] = service.cluster.workers
    ;[[own], [other]] = service.accounts as [[TestAccount], [TestAccount]] // of the first worker, and of the second
    const signer = await openSigner(service.sql, null)
    await coverAll({ sql: service.sql, signer })
    await call(own)
    await call(other)
    if (way === 'SIGSTOP') worker?.signal('SIGSTOP')
    else await worker?.end(way)
  })
  afterAll(async () => {
    const [worker] = service.cluster.workers
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
    const signer = await openSigner(service.sql, null)
    expect((await call(other)).status).toBe(201)
    await expect(coverAll({ sql: service.sql, signer })).rejects.toThrow('left out')
    expect(await uncovered(other)).toBe(0)
    await expect(countAll(service.sql, { signal, isModest: false })).rejects.toThrow('left out')
    const [counted] = await service.sql<{ leaves: number }[]>`
      select leaves::integer from statistics_progress where account_id = ${other.accountId}`
    expect(counted?.leaves).toBeGreaterThan(0)
  })

  it('refuses new accounts, and names the reason', async () => {
    const args = ['admin', 'account', 'create', '--email', `${newId()}@example.com`, '--database-url', service.url]
    const { code, stderr } = await runBinary(args, { env: { HOME: folder.path } })
    expect([code, stderr]).toEqual([7, expect.stringContaining('server of the cluster')])
  })
})
