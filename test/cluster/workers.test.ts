import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { AccountLists } from '../../server/db/accounts.ts'
import { coverAll } from '../../server/evidence/log.ts'
import { openSigner } from '../../server/evidence/signer.ts'
import { newId, noId } from '../../server/ids.ts'
import { countAll } from '../../server/stats/counting.ts'
import { timestampJob } from '../../server/timestamps/job.ts'
import { hasOpenssl, useAuthority } from '../support/authority.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import type { TestAccount } from '../support/service.ts'
import { useClusterService, writesOf } from './service.ts'

const folder = useFolder()
const service = useClusterService(1)
const tsa = useAuthority()
const start = () => service.start()

async function get(account: TestAccount, path: string, server = service.node) {
  const headers = { authorization: `Bearer ${account.key}` }
  return (await fetch(server.url + path, { headers })).status
}

let writes = 0

/** The statuses of the responses, or of the records of those with several. */
async function write(account: TestAccount, server = service.node): Promise<number[]> {
  writes += 1
  const answers = await Promise.all(
    writesOf(account, writes).map(async ({ path, headers, body }) => {
      const answer = await fetch(server.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      const { results } = (await answer.json()) as { results?: { status: number; retry_after?: number | null }[] }
      for (const one of results ?? [{ status: answer.status, retry_after: Number(answer.headers.get('retry-after')) }])
        if (one.status === 503) expect(one.retry_after).toBeGreaterThan(0)
      return results?.map(({ status }) => status) ?? [answer.status]
    }),
  )
  return answers.flat()
}

const written = [201, 201, 201, 201, 201]

async function statusesOf(account: TestAccount, server = service.node): Promise<number[]> {
  const paths = [
    '/api/v1/consents',
    '/api/v1/stats',
    `/api/v1/sites/${account.siteId}/notices`,
    '/api/v1/log/checkpoint',
    '/api/v1/audit',
  ]
  const [written, ...read] = await Promise.all([
    write(account, server),
    ...paths.map(path => get(account, path, server)),
  ])
  return [...written, ...read]
}

async function uncovered(account: TestAccount): Promise<number> {
  const rows = await service.sql`
    select 1 as one from log_entries where account_id = ${account.accountId} and leaf_index is null`
  return rows.length
}

const signal = new AbortController().signal

/** Accounts without anything but a login. */
beforeAll(async () => {
  await service.sql`
    insert into logins (email, account_id, user_id) select id || '@example.com', id, id from (
      select gen_random_uuid() as id from generate_series(1, 200)
    ) as s`
  await service.sql`
    insert into accounts (account_id, plan, created_at)
    select account_id, 'unlimited', now() from logins on conflict do nothing`
})

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
    expect(await write(own)).toEqual(written)
    expect(await write(other)).toEqual(written)
    if (way === 'SIGSTOP') worker?.signal('SIGSTOP')
    else await worker?.end(way)
  })
  afterAll(async () => {
    const [worker] = service.cluster.workers
    if (way === 'SIGSTOP') worker?.signal('SIGCONT')
    else await worker?.start()
    await vi.waitFor(async () => expect(await write(own)).toEqual(written), { timeout: 10_000 })
  })

  it('responds 503 only to requests of its own accounts', async () => {
    const [mine, others] = await Promise.all([statusesOf(own), statusesOf(other)])
    expect(new Set(mine)).toEqual(new Set([503]))
    expect(others).toEqual([...written, 200, 200, 200, 200, 200])
  })

  it('does not prevent a node from starting and writing', async () => {
    const second = await start()
    try {
      await delay(2500) // a node notices a read-only database within that time
      expect((await fetch(`${second.url}/writable`)).status).toBe(200)
      expect(await statusesOf(other, second)).toEqual([...written, 200, 200, 200, 200, 200])
    } finally {
      await second.end('SIGTERM')
    }
  })

  it('does not prevent checkpoints and statistics of other accounts', async () => {
    const signer = await openSigner(service.sql, null)
    expect(await write(other)).toEqual(written)
    await expect(coverAll({ sql: service.sql, signer })).rejects.toThrow('were skipped')
    expect(await uncovered(other)).toBe(0)
    await expect(countAll(service.sql, { signal, isModest: false })).rejects.toThrow('were skipped')
    const [counted] = await service.sql<{ leaves: number }[]>`
      select leaves::integer from statistics_progress where account_id = ${other.accountId}`
    expect(counted?.leaves).toBeGreaterThan(0)
  })

  it.skipIf(!hasOpenssl)('does not prevent time stamps of other accounts', async () => {
    const signer = await openSigner(service.sql, null)
    expect(await write(other)).toEqual(written)
    await expect(coverAll({ sql: service.sql, signer })).rejects.toThrow('were skipped')
    const logger = { info: () => {}, error: () => {} }
    const job = timestampJob({ sql: service.sql, tsa: { url: tsa.url, caFile: tsa.authority.caFile }, logger })
    await expect(job.run(signal)).rejects.toThrow('were skipped')
    const stamped = await service.sql`
      select 1 as one from timestamp_tokens where account_id = ${other.accountId} and tree_size = (
        select max(tree_size) from checkpoints where account_id = ${other.accountId})`
    expect(stamped).toHaveLength(1)
  })

  it('makes a job skip its accounts, with at most two lookups of placements', async () => {
    let listings = 0
    const sql = new Proxy(service.sql, {
      apply: (target, self, args: Parameters<Sql>) => {
        if ([args[0]].flat().join('').includes('pg_dist_placement')) listings += 1
        return Reflect.apply(target, self, args)
      },
    })
    const accounts = new AccountLists(sql)
    const found: string[] = []
    for (let isLast = false; !isLast; ) {
      const page = await accounts.list(
        found.at(-1) ?? noId,
        80,
        (among, limit) => sql<{ account_id: string }[]>`
          select account_id from accounts where account_id ${among} order by account_id limit ${limit}`,
      )
      isLast = page.isLast
      found.push(...page.rows.map(({ account_id }) => account_id))
    }
    const port = new URL(service.cluster.workers[0]?.url ?? '').port
    const reachable = await service.sql<{ account_id: string }[]>`
      select l.account_id from logins l
      join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('accounts', l.account_id)
      join pg_dist_node using (groupid) where nodeport <> ${Number(port)} order by account_id`
    expect(accounts.isPartial).toBe(true)
    expect(reachable.length).toBeGreaterThan(50)
    expect(found).toEqual(reachable.map(({ account_id }) => account_id))
    expect(listings).toBeLessThanOrEqual(2)
  })

  it('rejects new accounts, and states the reason', async () => {
    const args = ['admin', 'account', 'create', '--email', `${newId()}@example.com`, '--database-url', service.url]
    const { code, stderr } = await runBinary(args, { env: { HOME: folder.path } })
    expect([code, stderr]).toEqual([7, expect.stringContaining('server of the cluster')])
  })
})
