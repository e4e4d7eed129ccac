import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { joinNodes } from './databases.ts'
import { findPrograms, type PostgresServer, startPostgres } from './postgres.ts'

/** A private Citus cluster: a coordinator and two workers, each of which its test may end, freeze and start again. */
export interface CitusCluster {
  readonly coordinator: PostgresServer
  readonly workers: readonly PostgresServer[]
  remove(): Promise<void>
}

const settings = [
  'shared_preload_libraries=citus',
  'wal_level=logical', // moving a shard beside writes
  'citus.node_conninfo=sslmode=disable',
  'citus.shard_count=4',
  'max_worker_processes=64', // one for each database
]

/** Returns true if the PostgreSQL at hand has the extension. */
export function hasCitus(): boolean {
  const programs = findPrograms()
  if (!programs) return false
  const folder = execFileSync(join(programs, 'pg_config'), ['--sharedir'], { encoding: 'utf8' }).trim()
  return existsSync(join(folder, 'extension', 'citus.control'))
}

export async function startCitus(): Promise<CitusCluster> {
  const started = await Promise.all([1, 2, 3].map(() => startPostgres({ durable: false, settings })))
  const [coordinator, ...workers] = started as [PostgresServer, ...PostgresServer[]]
  await joinNodes(
    started.map(({ url }) => url),
    'postgres',
  )
  return {
    coordinator,
    workers,
    remove: async () => {
      await Promise.all(started.map(server => server.remove()))
    },
  }
}
