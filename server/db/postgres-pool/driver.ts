import { Socket } from 'node:net'
import postgres, { type Options, type PostgresType } from 'postgres'
import type { Open } from './hosts.ts'
import { CheckedSocket } from './messages.ts'
import { SecureSocket, type TlsSettings } from './tls.ts'

/** Serializers that can be applied twice, as the driver does when it prepares a statement again (README.md, #1197). */
const types: Record<string, PostgresType> = {
  boolean: {
    to: 16,
    from: [16],
    serialize: (value: unknown) => (value === true || value === 't' ? 't' : 'f'),
    parse: (text: string) => text === 't',
  },
  // `2026-11-20`, which the driver would turn into an instant.
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

/** README.md gives the reasons. */
export const driverOptions = {
  connect_timeout: 3,
  /** Seconds. By default a query can wait two minutes for a database that is down. */
  backoff: (attempt: number) => Math.min(0.1, 0.01 * 2 ** attempt),
  max_pipeline: 0,
  fetch_types: false,
  types,
  socket: openSocket(null),
  onnotice: () => {},
}

interface Target {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path?: string | undefined
}

function openSocket(tls: TlsSettings | null) {
  return ({ host: [host = ''], port: [port = 0], path }: Target) => {
    const to = path ? { path } : { host, port }
    if (tls) return new SecureSocket(new Socket().connect(to), { ...tls, host, port })
    // The driver reads the server's name from its socket.
    return Object.assign(new CheckedSocket(), { host, port }).connect(to)
  }
}

type DriverOptions = Options<Record<string, PostgresType>>

/** Reads a URL and its options once, for all connections to it. Each gets what the driver changes during a connection anew. */
export function prepareDriver(url: string, options: DriverOptions): Open {
  const parsed = postgres(url, options).options as unknown as Partial<TlsSettings>
  const { ssl, sslnegotiation } = parsed
  const tls = ssl ? { ssl, sslnegotiation: sslnegotiation ?? null } : null
  // With `shared`, the driver takes its own options as they are.
  const own = { ...parsed, ssl: false, socket: openSocket(tls), no_subscribe: true }
  const fresh = () => ({ parameters: {}, shared: { retries: 0, typeArrayMap: {} } })
  return connection => postgres({ ...own, ...fresh(), ...connection } as DriverOptions)
}
