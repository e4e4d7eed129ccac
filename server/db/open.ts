import { join } from 'node:path'
import type { Sql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'
import type { Config } from '../config.ts'
import { type ConnectOptions, connect, socketName, splitHosts } from './connect.ts'
import { type EmbeddedOptions, startEmbedded } from './embedded.ts'
import { dbErrorCode, dbErrorKind } from './errors.ts'
import { answers } from './lock.ts'
import { migrate } from './migrate.ts'
import type { EmbeddedDatabase } from './pglite.ts'
import { Replicas } from './replicas.ts'

export interface Database {
  readonly sql: Sql
  /** A separate pool, except on the embedded database: the public flow must not block the private API. */
  readonly publicSql: Sql
  readonly monitorSql: Sql
  readonly replicas: Replicas | undefined
  close(): Promise<void>
}

interface OpenOptions extends EmbeddedOptions {
  readonly share?: boolean
  readonly isUnlimited?: boolean
  readonly signal?: AbortSignal | undefined
}

const maxConnections = 10
const maxPublicConnections = 4
const maxReplicaConnections = 5

/** One reads while a write waits. */
const maxMonitorConnections = 2

export async function openDatabase(config: Config, options: OpenOptions): Promise<Database> {
  const { databaseUrl: url, readDatabaseUrl, dataDir: folder } = config
  const { onWait, signal, isUnlimited } = options
  if (url)
    return openMigrated({ target: { url }, max: maxConnections, isUnlimited }, { readDatabaseUrl, onWait, signal })
  const connection = { target: { folder }, max: 1 }
  if (options.share && (await answers(join(folder, socketName)))) return openMigrated(connection, { onWait, signal })
  return await openMigrated(connection, { onWait, signal, embedded: await startEmbedded(folder, options) })
}

interface MigratedOptions extends Pick<OpenOptions, 'onWait' | 'signal'> {
  readonly readDatabaseUrl?: string | null
  readonly embedded?: EmbeddedDatabase
}

async function openMigrated(
  connection: ConnectOptions,
  { readDatabaseUrl, embedded, onWait, signal }: MigratedOptions,
): Promise<Database> {
  const pools: Sql[] = []
  const close = async () => {
    await Promise.all(pools.map(pool => pool.end({ timeout: 2 })))
    await embedded?.close()
  }
  const open = (options: ConnectOptions) => {
    const pool = connect(options)
    pools.push(pool)
    return pool
  }
  const openReplica = (url: string) => open({ target: { url }, max: maxReplicaConnections, isReplica: true })
  try {
    const sql = open(connection)
    await migrate(sql, { onWait, signal })
    const openMore = (max: number) => ('url' in connection.target ? open({ ...connection, max }) : sql)
    const publicSql = openMore(maxPublicConnections)
    const monitorSql = openMore(maxMonitorConnections)
    const replicas = readDatabaseUrl ? splitHosts(readDatabaseUrl).map(openReplica) : []
    return { sql, publicSql, monitorSql, replicas: replicas.length > 0 ? new Replicas(replicas) : undefined, close }
  } catch (cause) {
    await close()
    if (cause instanceof OperatorError || cause === signal?.reason) throw cause
    throw toOperatorError(cause, 'url' in connection.target ? 'url' : 'folder')
  }
}

/** @throws OperatorError if the database connection is lost */
export async function explainLoss<T>(config: Config, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw explained(config, cause)
  }
}

/** @throws OperatorError if the database is lost */
export async function* explainLossOf<T>(config: Config, items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items
  } catch (cause) {
    throw explained(config, cause)
  }
}

function explained({ databaseUrl }: Config, cause: unknown): unknown {
  const kind = dbErrorKind(cause)
  const isLoss = kind === 'lost' || kind === 'unavailable'
  return isLoss ? toOperatorError(cause, databaseUrl ? 'url' : 'folder') : cause
}

const hints: readonly (readonly [codes: RegExp, hint: string])[] = [
  [/^28/, 'check the user and the password in the database URL'],
  [/^3D/, 'create it first: createdb'],
  [/^(XX00[12]|58P01)$/, 'its files are damaged: put them back from a backup'],
  [
    /^42501$/,
    'the user of the URL has too few rights: use the role that owns the database, or see consentctl admin grants',
  ],
]

const otherHints = {
  url: {
    unavailable: 'check that PostgreSQL runs, and the host and port of the URL',
    other: 'check the database URL',
  },
  folder: {
    unavailable: 'close clients that block it, such as psql with an open transaction, and retry',
    other: 'check the data folder',
  },
} as const

function delayHint(cause: unknown): string | undefined {
  if (/ remote node /.test(String((cause as Error).message)))
    return 'start that server of the cluster, or remove it with citus_disable_node'
  if (dbErrorCode(cause) !== '57014') return undefined
  return 'look for a lock on the tables, or for a server of the cluster that hangs'
}

function toOperatorError(cause: unknown, target: keyof typeof otherHints): OperatorError {
  const code = dbErrorCode(cause) ?? ''
  const hint = hints.find(([codes]) => codes.test(code))?.[1]
  const kind = dbErrorKind(cause)
  const isUnavailable = hint === undefined && (kind === 'lost' || kind === 'unavailable')
  const others = otherHints[target]
  return new OperatorError(`the database cannot be used: ${(cause as Error).message || code || String(cause)}`, {
    code: isUnavailable ? 'unavailable' : 'settings',
    hint: hint ?? (isUnavailable ? (delayHint(cause) ?? others.unavailable) : others.other),
    cause,
  })
}
