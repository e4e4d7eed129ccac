import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { TestAccount } from '../support/service.ts'
import { useClusterService, writesOf } from './service.ts'

/** CONSENTCTL_TEST_FAULTS=50 is the number of rounds. */
const rounds = Number(process.env['CONSENTCTL_TEST_FAULTS'] ?? 1)
const service = useClusterService(2)

interface Writer {
  readonly account: TestAccount
  readonly ids: Set<string>
  readonly statuses: Map<number, number>
  /** Longest time from a refusal to the next success while its worker was well, in milliseconds. */
  longestRefusalMs: number
}

/** Resolves to the status of each record, and the ids of those written. */
async function send(account: TestAccount, number: number): Promise<{ statuses: number[]; ids: string[] }> {
  const writes = writesOf(account, number)
  const { path, headers, body } = writes[number % writes.length] as (typeof writes)[number]
  const answer = await fetch(service.node.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const { id, results } = (await answer.json()) as {
    id?: string
    results?: { status: number; consent: { id: string } }[]
  }
  if (!results) return { statuses: [answer.status], ids: id === undefined ? [] : [id] }
  const written = results.filter(({ status }) => status === 201)
  return { statuses: results.map(({ status }) => status), ids: written.map(({ consent }) => consent.id) }
}

/** Repeats each write until it succeeds. */
async function write(writer: Writer, isOver: () => boolean, isAffected: (account: TestAccount) => boolean) {
  const { account, ids, statuses } = writer
  let refusedAt: number | null = null
  for (let number = 0; !isOver() || refusedAt !== null; ) {
    const answer = await send(account, number)
    for (const status of answer.statuses) statuses.set(status, (statuses.get(status) ?? 0) + 1)
    for (const id of answer.ids) ids.add(id)
    const isWritten = answer.statuses.every(status => status === 201)
    if (isAffected(account)) refusedAt = null
    else if (isWritten) {
      if (refusedAt !== null) writer.longestRefusalMs = Math.max(writer.longestRefusalMs, performance.now() - refusedAt)
      refusedAt = null
    } else refusedAt ??= performance.now()
    if (isWritten) number += 1
    else await delay(50)
  }
}

it('a Citus cluster whose workers are killed and suspended, and whose shards move, loses no write of a retrying client', {
  timeout: 60_000 * (rounds + 1),
}, async () => {
  const { cluster, sql, accounts } = service
  const affected = new Set<TestAccount>()
  let isOver = false
  const writers = accounts.flat().map(account => ({
    account,
    ids: new Set<string>(),
    statuses: new Map<number, number>(),
    longestRefusalMs: 0,
  }))
  const writing = Promise.all(
    writers.map(writer =>
      write(
        writer,
        () => isOver,
        account => affected.has(account),
      ),
    ),
  )
  /** The accounts count as affected until a second after the fault. */
  const during = async (of: readonly TestAccount[], fault: () => Promise<unknown>) => {
    for (const account of of) affected.add(account)
    await fault()
    await delay(1000)
    for (const account of of) await expect.poll(() => statusOf(account), { timeout: 10_000 }).toBe(200)
    affected.clear()
    await delay(500)
  }
  for (let round = 0; round < rounds; round += 1) {
    const worker = cluster.workers[round % 2]
    const port = new URL(worker?.url ?? '').port
    const own: TestAccount[] = []
    for (const account of accounts.flat()) if ((await service.portOf(account)) === port) own.push(account)
    await during(own, async () => {
      await worker?.end('SIGQUIT')
      await delay(1000)
      await worker?.start()
    })
    await during(own, async () => {
      worker?.signal('SIGSTOP')
      await delay(2000)
      worker?.signal('SIGCONT')
    })
    const moved = accounts[round % 2]?.[0] as TestAccount
    await during([moved, ...own], () => move(moved))
  }
  isOver = true
  await writing
  for (const { account, ids, statuses, longestRefusalMs } of writers) {
    const rows = await sql<{ id: string }[]>`select id from consents where account_id = ${account.accountId}`
    expect(new Set(rows.map(({ id }) => id))).toEqual(ids)
    const others = [...statuses.keys()].filter(status => status !== 201 && status !== 503)
    expect(others, service.node.output()).toEqual([])
    expect(longestRefusalMs).toBeLessThan(1000)
  }
})

async function statusOf({ key }: TestAccount): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  return (await fetch(`${service.node.url}/api/v1/consents?limit=1`, { headers })).status
}

/** Moves the shards of an account to the other worker while it is written to. */
async function move(account: TestAccount): Promise<void> {
  const from = await service.portOf(account)
  const to = service.cluster.workers.map(({ url }) => new URL(url).port).find(port => port !== from)
  await service.sql.begin(async tx => {
    await tx`set local statement_timeout = 0`
    await tx`
      select citus_move_shard_placement(get_shard_id_for_distribution_column('accounts', ${account.accountId}::uuid),
        '127.0.0.1', ${Number(from)}, '127.0.0.1', ${Number(to)}, 'force_logical')`
  })
}
