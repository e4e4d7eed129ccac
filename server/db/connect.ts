import type { PostgresType, ReservedSql, Sql } from 'postgres'
import postgres from 'postgres'
import { Hosts, type Open } from './postgres-pool/hosts.ts'
import { inTransaction, Pool } from './postgres-pool/pool.ts'

/**
 * How values are written for PostgreSQL so that twice is as good as once. A statement that must be prepared anew, because
 * the schema has changed or a pooler has forgotten it, is sent again by postgres.js 3.4.9 with its values written a second
 * time: its own ways would then store `true` as false, an object as a text, and bytes as their hexadecimal digits.
 */
const types: Record<string, PostgresType> = {
  boolean: {
    to: 16,
    from: [16],
    serialize: (value: unknown) => (value === true || value === 't' ? 't' : 'f'),
    parse: (text: string) => text === 't',
  },
  // A day is its text, `2026-11-20`: the driver would make an instant of it.
  date: {
    to: 1082,
    from: [1082],
    serialize: (day: string) => day,
    parse: (text: string) => text,
  },
  json: {
    to: 114,
    from: [114, 3802],
    serialize: (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)),
    parse: (text: string) => JSON.parse(text),
  },
  bytea: {
    to: 17,
    from: [17],
    serialize: (value: unknown) =>
      typeof value === 'string' ? value : `\\x${Buffer.from(value as Uint8Array).toString('hex')}`,
    parse: (text: string) => Buffer.from(text.slice(2), 'hex'),
  },
}

export interface ConnectOptions {
  /** A PostgreSQL URL, or the folder that holds a server's Unix socket. */
  readonly target: { readonly url: string } | { readonly folder: string }
  /** How many connections the pool opens at most. */
  readonly max: number
  /** Whether a server is a standby that is only read from, instead of the primary. */
  readonly isReplica?: boolean
}

/** The port in the name of PostgreSQL's Unix socket: `.s.PGSQL.5432`, so that `psql -h FOLDER` finds it. */
export const socketName = '.s.PGSQL.5432'

/** The part of the embedded database's folder that holds its files. */
export const filesName = 'postgresql'

/** How long the database works on a statement before it gives up, in milliseconds: nobody waits longer for an answer. */
const statement_timeout = 5000

/**
 * A pool of connections, opened when first used. Trouble shows within seconds: postgres.js by itself waits up to
 * two minutes for a database that is down.
 */
export function connect({ target, max, isReplica = false }: ConnectOptions): Sql {
  const options = {
    max,
    connect_timeout: 3,
    backoff: (attempt: number) => Math.min(0.1, 0.01 * 2 ** attempt),
    // Never a statement behind another on one connection. When one of them must be prepared anew, because the schema has
    // changed or a pooler has forgotten it, postgres.js 3.4.9 takes the answer to one for that to another.
    max_pipeline: 0,
    // Asked for by nobody, the driver's question for the types of arrays would end the process with its connection.
    fetch_types: false,
    types,
    onnotice: () => {},
    connection: { application_name: 'consentctl' },
  }
  if ('url' in target) {
    const connection = { ...options.connection, statement_timeout }
    const ssl = isRemote(target.url) ? { ssl: 'verify-full' as const } : {}
    const role = isReplica ? ('standby' as const) : ('primary' as const)
    const one = { ...options, ...ssl, connection, max: 1, target_session_attrs: role }
    const open =
      (url: string): Open =>
      own =>
        postgres(url, { ...one, ...own })
    const [first, ...more] = splitHosts(target.url)
    return new Pool(new Hosts([open(first), ...more.map(open)]), max).sql
  }
  const path = `${target.folder}/${socketName}`
  return withBegin(postgres({ ...options, path, user: 'postgres', database: 'postgres', max_lifetime: null }))
}

function withBegin(sql: Sql): Sql {
  const begin = (work: (tx: ReservedSql) => Promise<unknown>) => inTransaction(sql, work)
  return Object.assign(sql, { begin })
}

/** A URL's parts: what is before its hosts, the hosts with their ports, and what is after them. */
function partsOf(url: string): [before: string, hosts: string[], after: string] {
  const [, before = '', hosts = '', after = ''] = /^(\w+:\/\/(?:[^/?]*@)?)([^@/?]*)(.*)$/s.exec(url) ?? []
  return [before, hosts.split(','), after]
}

/** The URL of each host of a URL that names several, as libpq has them: `postgres://one:5432,other:5433/name`. */
export function splitHosts(url: string): [string, ...string[]] {
  const [before, [first = '', ...more], after] = partsOf(url)
  const urlOf = (host: string) => `${before}${host}${after}`
  return [urlOf(first), ...more.map(urlOf)]
}

/** Whether a server is on another machine and its URL leaves open how to encrypt: then nothing less will do. */
function isRemote(url: string): boolean {
  const [, hosts] = partsOf(url)
  const isHere = hosts.every(host => /^(localhost|127\.[\d.]+|\[::1\]|%2f.*)?(:\d+)?$/i.test(host))
  return !isHere && !/[?&]ssl(mode)?=/.test(url)
}
