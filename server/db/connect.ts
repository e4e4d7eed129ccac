import type { ReservedSql, Sql } from 'postgres'
import postgres from 'postgres'
import { databaseTimeoutMs } from './errors.ts'
import { driverOptions, prepareDriver } from './postgres-pool/driver.ts'
import { Hosts } from './postgres-pool/hosts.ts'
import { Pool } from './postgres-pool/pool.ts'
import { inTransaction } from './postgres-pool/transaction.ts'

export interface ConnectOptions {
  readonly target: { readonly url: string } | { readonly folder: string }
  readonly max: number
  readonly isReplica?: boolean
  readonly isUnlimited?: boolean | undefined
}

/** PostgreSQL's name, so that `psql -h FOLDER` finds it. */
export const socketName = '.s.PGSQL.5432'

export const filesName = 'postgresql'

export function connect({ target, max, isReplica = false, isUnlimited = false }: ConnectOptions): Sql {
  const connection = { application_name: 'consentctl' }
  if ('folder' in target) return connectEmbedded(`${target.folder}/${socketName}`, { max, connection })
  // JIT compilation takes longer than the statements.
  const options = {
    ...driverOptions,
    ...(isRemote(target.url) && { ssl: 'verify-full' as const }), // `require` would not verify the server
    connection: { ...connection, statement_timeout: isUnlimited ? 0 : databaseTimeoutMs, jit: 'off' },
    max: 1,
  }
  const open = (url: string) => prepareDriver(url, options)
  const [first, ...more] = splitHosts(target.url)
  return new Pool(new Hosts([open(first), ...more.map(open)], isReplica), { max, isUnlimited }).sql
}

function connectEmbedded(path: string, options: Pick<ConnectOptions, 'max'> & { connection: object }): Sql {
  const sql = postgres({
    ...driverOptions,
    ...options,
    path,
    user: 'postgres',
    database: 'postgres',
    max_lifetime: null,
  })
  const begin = (work: (tx: ReservedSql) => Promise<unknown>) => inTransaction(sql, work)
  return Object.assign(sql, { begin })
}

/** Such as `postgres://one:5432,other:5433/name` (libpq). */
export function splitHosts(url: string): [string, ...string[]] {
  const { before, hosts, after } = splitUrl(url)
  const [first = '', ...more] = hosts.map(host => `${before}${host}${after}`)
  return [first, ...more]
}

function splitUrl(url: string): { before: string; hosts: string[]; after: string } {
  const [, before = '', hosts = '', after = ''] = /^(\w+:\/\/(?:[^/?]*@)?)([^@/?]*)(.*)$/s.exec(url) ?? []
  return { before, hosts: hosts.split(','), after }
}

function isRemote(url: string): boolean {
  const isLocal = /^(localhost|127\.[\d.]+|\[::1\]|%2f.*)?(:\d+)?$/i
  return !splitUrl(url).hosts.every(host => isLocal.test(host)) && !/[?&]ssl(mode)?=/.test(url)
}
