import postgres, { type Options, type PostgresType } from 'postgres'
import type { Open } from './hosts.ts'

/** Serializers that can be applied twice (README.md, #1197). */
const types: Record<string, PostgresType> = {
  boolean: {
    to: 16,
    from: [16],
    serialize: (value: unknown) => (value === true || value === 't' ? 't' : 'f'),
    parse: (text: string) => text === 't',
  },
  // `2026-11-20`; the driver would make an instant of it.
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
  /** Seconds. */
  backoff: (attempt: number) => Math.min(0.1, 0.01 * 2 ** attempt),
  max_pipeline: 0,
  fetch_types: false,
  types,
  onnotice: () => {},
}

type DriverOptions = Options<Record<string, PostgresType>>

/** Reads a URL and its options once. Each connection gets its own copy of what the driver changes. */
export function prepareDriver(url: string, options: DriverOptions): Open {
  // With `shared`, passes the driver its own options unchanged.
  const own = { ...(postgres(url, options).options as unknown as DriverOptions), no_subscribe: true }
  const fresh = () => ({ parameters: {}, shared: { retries: 0, typeArrayMap: {} } })
  return connection => postgres({ ...own, ...fresh(), ...connection } as DriverOptions)
}
