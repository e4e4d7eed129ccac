import postgres, { type Sql } from 'postgres'

export interface Connection {
  /** A PostgreSQL URL, or the folder that holds a server's Unix socket. */
  readonly target: { readonly url: string } | { readonly folder: string }
  /** How many connections the pool opens at most. */
  readonly max: number
}

/** The port in the name of PostgreSQL's Unix socket: `.s.PGSQL.5432`, so that `psql -h FOLDER` finds it. */
export const socketName = '.s.PGSQL.5432'

/**
 * A pool of connections, opened when first used. Trouble shows within seconds: postgres.js by itself waits up to
 * two minutes for a database that is down.
 */
export function connect({ target, max }: Connection): Sql {
  const options = {
    max,
    connect_timeout: 3,
    backoff: (attempt: number) => Math.min(0.1, 0.01 * 2 ** attempt),
    onnotice: () => {},
    connection: { application_name: 'consentctl' },
  }
  if ('url' in target) {
    const ssl = isRemote(target.url) ? { ssl: 'verify-full' as const } : {}
    return postgres(target.url, { ...options, ...ssl, target_session_attrs: 'primary' })
  }
  const path = `${target.folder}/${socketName}`
  return postgres({ ...options, path, user: 'postgres', database: 'postgres', max_lifetime: null })
}

/** Whether a server is on another machine and its URL leaves open how to encrypt: then nothing less will do. */
function isRemote(url: string): boolean {
  const [, hosts = ''] = /^\w+:\/\/(?:[^@/]*@)?([^/?]*)/.exec(url) ?? []
  const isHere = hosts.split(',').every(host => /^(localhost|127\.[\d.]+|\[::1\]|%2f.*)?(:\d+)?$/i.test(host))
  return !isHere && !/[?&]ssl(mode)?=/.test(url)
}
