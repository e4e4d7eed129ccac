import { join } from 'node:path'
import type { Sql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'
import type { Config } from '../config.ts'
import { type ConnectOptions, connect, socketName, splitHosts } from './connect.ts'
import { type EmbeddedOptions, startEmbedded } from './embedded.ts'
import { dbErrorCode, dbErrorKind } from './errors.ts'
import { answers } from './lock.ts'
import { migrate } from './migrate.ts'
import { Replicas } from './replicas.ts'

export interface Database {
  readonly sql: Sql
  /** For the public flow: on a PostgreSQL server a pool of its own, so that none of its statements is in the others' way. */
  readonly publicSql: Sql
  /** What lists may be read from instead. */
  readonly replicas: Replicas | undefined
  close(): Promise<void>
}

export interface OpenOptions extends EmbeddedOptions {
  /** Use the embedded database of a running server instead of starting it. */
  readonly share?: boolean
}

/** How many connections of a node are the public flow's at most, and how many there are to each replica. */
const [publicConnections, replicaConnections] = [4, 5]

/** Opens the database that the configuration names, and migrates it. Throws an OperatorError where it cannot. */
export async function openDatabase(config: Config, options: OpenOptions): Promise<Database> {
  const { databaseUrl: url, readDatabaseUrl, dataDir: folder } = config
  if (url) return migrated({ target: { url }, max: 10 }, { readDatabaseUrl })
  // One backend serves all: a second connection would wait for the first.
  const connection = { target: { folder }, max: 1 }
  if (options.share && (await answers(join(folder, socketName)))) return migrated(connection)
  const embedded = await startEmbedded(folder, options)
  return await migrated(connection, { closeEmbedded: () => embedded.close() })
}

interface More {
  readonly readDatabaseUrl?: string | null
  readonly closeEmbedded?: () => Promise<void>
}

async function migrated(
  connection: ConnectOptions,
  { readDatabaseUrl, closeEmbedded = async () => {} }: More = {},
): Promise<Database> {
  const pools: Sql[] = []
  const close = async () => {
    await Promise.all(pools.map(pool => pool.end({ timeout: 2 })))
    await closeEmbedded()
  }
  const open = (options: ConnectOptions) => {
    const pool = connect(options)
    pools.push(pool)
    return pool
  }
  try {
    const sql = open(connection)
    await migrate(sql)
    const publicSql = 'url' in connection.target ? open({ ...connection, max: publicConnections }) : sql
    const replicas = readDatabaseUrl ? splitHosts(readDatabaseUrl).map(url => open(replicaAt(url))) : []
    return { sql, publicSql, replicas: replicas.length > 0 ? new Replicas(replicas) : undefined, close }
  } catch (cause) {
    await close()
    throw unusable(cause, connection)
  }
}

function replicaAt(url: string): ConnectOptions {
  return { target: { url }, max: replicaConnections, isReplica: true }
}

/** What to do about a database that cannot be opened, by the SQLSTATE of its answer (PostgreSQL's appendix A). */
const hints: readonly (readonly [codes: RegExp, hint: string])[] = [
  [/^28/, 'check the user and the password in the database URL'],
  [/^3D/, 'make it first: createdb'],
  [/^42501$/, 'its user must be allowed to create tables: alter database … owner to …'],
]

/** What to check where the code says no more: of a database that does not answer, and of another. */
const checks = {
  url: ['check that PostgreSQL runs, and the host and port of the URL', 'check the database URL'],
  folder: [
    'see that nobody holds it up, as psql does with an open transaction, and run it again',
    'check the data folder',
  ],
} as const

function unusable(cause: unknown, { target }: ConnectOptions): OperatorError {
  const code = dbErrorCode(cause) ?? ''
  const hint = hints.find(([codes]) => codes.test(code))?.[1]
  const isAway = hint === undefined && ['lost', 'unavailable'].includes(dbErrorKind(cause) ?? '')
  const [ifAway, ifThere] = checks['url' in target ? 'url' : 'folder']
  return new OperatorError(
    `the database cannot be used: ${(cause as Error).message || code || String(cause)}`,
    { obstacle: isAway ? 'unavailable' : 'settings', hint: hint ?? (isAway ? ifAway : ifThere), cause },
  )
}
