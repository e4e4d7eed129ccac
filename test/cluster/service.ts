import type { Sql } from 'postgres'
import { afterAll, beforeAll } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { migrate } from '../../server/db/migrate.ts'
import { type CitusCluster, startCitus } from '../support/citus.ts'
import { createDatabase } from '../support/databases.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { newAccount, type TestAccount } from '../support/service.ts'

/** A node of the built service on a cluster of the test file's own, whose servers it may end. */
export interface ClusterService {
  cluster: CitusCluster
  url: string
  sql: Sql
  node: ServerProcess
  /** Accounts of each worker, in the order of the workers. */
  accounts: TestAccount[][]
  start(): Promise<ServerProcess>
  /** The port of the worker on which an account is. */
  portOf(account: TestAccount): Promise<string | undefined>
}

/** The requests that write records: one, a batch, and an import, each repeatable by its number. */
export function writesOf({ siteId: site_id }: TestAccount, number: number) {
  const row = (index: number) => ({ site_id, idempotency_key: `${number}-${index}` })
  const imported = (index: number) => ({
    site_id,
    policy_version: 1,
    origin: { system: 'another', id: `${number}-${index}` },
    file_sha256: 'ab'.repeat(32),
    given_at: '2021-03-04T05:06:07Z',
    accepted: true,
  })
  return [
    { path: '/api/v1/consents', headers: { 'idempotency-key': `${number}` }, body: { site_id } },
    { path: '/api/v1/consents/batch', headers: {}, body: { records: [row(0), row(1)] } },
    { path: '/api/v1/consents/batch', headers: {}, body: { records: [imported(0), imported(1)] } },
  ] as const
}

export function useClusterService(accountsPerWorker: number): ClusterService {
  const service = {} as ClusterService
  service.start = () => startServer(['--database-url', service.url, '--port', '0'], { LOG_LEVEL: 'error' })
  service.portOf = async ({ accountId }) => {
    const [row] = await service.sql<{ port: string }[]>`
      select nodeport::text as port from pg_dist_placement join pg_dist_node using (groupid)
      where shardid = get_shard_id_for_distribution_column('accounts', ${accountId}::uuid)`
    return row?.port
  }
  beforeAll(async () => {
    service.cluster = await startCitus()
    service.url = await createDatabase(service.cluster.coordinator.url, 'service')
    service.sql = connect({ target: { url: service.url }, max: 4 })
    await migrate(service.sql)
    const ports = service.cluster.workers.map(({ url }) => new URL(url).port)
    service.accounts = ports.map(() => [])
    while (service.accounts.some(accounts => accounts.length < accountsPerWorker)) {
      const account = await newAccount(service.sql)
      service.accounts[ports.indexOf((await service.portOf(account)) ?? '')]?.push(account)
    }
    await service.sql`update api_keys set scopes = scopes || '["import"]'`
    service.node = await service.start()
  })
  afterAll(async () => {
    await service.node?.end('SIGTERM')
    await service.sql?.end({ timeout: 2 })
    await service.cluster?.remove()
  })
  return service
}
