import type { Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { connect } from '../../../server/db/connect.ts'
import { migrate } from '../../../server/db/migrate.ts'
import { Quota } from '../../../server/quota/quota.ts'
import { newLedger, write } from '../../e2e/ledger.ts'
import { findContradictions } from '../../e2e/ledger-check.ts'
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../../support/pgbouncer.ts'
import { useService } from '../../support/service.ts'

const isPossible = process.env['TEST_ENGINE'] === 'postgres' && hasPgBouncer()
if (process.env['TEST_ENGINE'] === 'postgres' && !isPossible) {
  if (process.env['CI']) throw new Error('CI needs PgBouncer: install it')
  process.stderr.write('\n*** SKIPPED: a pooler before PostgreSQL. No pgbouncer was found. ***\n\n')
}

/** Backends shared by the ten connections of the clients. */
const backends = 3

describe.skipIf(!isPossible)('connect › behind a pooler that assigns a backend per transaction', () => {
  const service = useService()
  let pooler: PgBouncer
  let pooled: Sql
  beforeAll(async () => {
    const [row] = await service.sql<{ name: string }[]>`select current_database() as name`
    const name = row?.name ?? ''
    await service.sql`alter database ${service.sql(name)} set statement_timeout = '2s'`
    pooler = await startPgBouncer(inject('clusterUrl') ?? '', backends)
    pooled = connect({ target: { url: `${pooler.url}/${name}` }, max: 10 })
  })
  afterAll(async () => {
    await pooled?.end({ timeout: 5 })
    await pooler?.stop()
  })

  it('migrates, stores every record unchanged, and leaves no prepared statements in the backends', async () => {
    await migrate(pooled)
    expect(await loaded()).toEqual([])
    const before = await preparedStatements()
    expect(await loaded()).toEqual([])
    // The first load has shown the pool that there is a pooler: it prepares no more statements.
    expect((await preparedStatements()) - before).toBeLessThan(20)
  })

  it('aborts a statement after the database’s statement timeout', async () => {
    await expect(pooled`select pg_sleep(20)`).rejects.toMatchObject({ code: '57014' })
  })

  /** Returns contradictions and unexpected responses of 300 requests of eight clients to a node behind the pooler. */
  async function loaded(): Promise<unknown[]> {
    const node = await service.addNode({ sql: pooled, quota: new Quota(pooled) })
    const target = { ...(await service.newAccount()), url: node.url }
    const ledger = newLedger()
    await write(target, ledger, { clients: 8 }, () => ledger.requests.length >= 300)
    const unexpected = ledger.requests.filter(({ isExpected }) => !isExpected)
    return [...(await findContradictions(target, service.sql, ledger)), ...unexpected]
  }

  /** Returns the number of prepared statements in the backends of the pooler. */
  async function preparedStatements(): Promise<number> {
    const asked = Array.from(
      { length: 10 * backends },
      () => pooled<{ pid: number; count: number }[]>`
        select pg_backend_pid() as pid, count(*)::integer as count, pg_sleep(0.02) from pg_prepared_statements`,
    )
    const rows = (await Promise.all(asked)).flat()
    const counts = new Map(rows.map(({ pid, count }) => [pid, count]))
    expect(counts.size).toBe(backends)
    return [...counts.values()].reduce((sum, count) => sum + count, 0)
  }
})
