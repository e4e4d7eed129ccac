import { type Endpoint, pathOf } from '../contract/endpoint.ts'
import type { Connection } from './connection.ts'
import type { Call } from './errors.ts'
import type { Headers } from './exchange.ts'
import type { Input } from './transport.ts'

/** What goes with every request. */
export function headersOf(connection: Connection): Record<string, string> {
  return {
    ...credentialsOf(connection),
    'user-agent': connection.userAgent,
    accept: 'application/json',
    'accept-encoding': 'identity',
  }
}

/** What is known of a call before it is sent. To sign in twice makes no more than another session. */
export function callOf(connection: Connection, endpoint: Endpoint, { params, query }: Input): Call {
  const { method, path } = endpoint
  return {
    method,
    path,
    url: connection.baseUrl + pathOf(endpoint, params) + toSearch(query),
    id: (params as { id?: string } | undefined)?.id ?? null,
    keySource: connection.key?.source ?? null,
    proxy: connection.proxy,
    idempotent: method !== 'POST' || isSignIn(connection, endpoint),
  }
}

export function isSignIn({ key }: Connection, { method, access }: Endpoint): boolean {
  return !key && method === 'POST' && access === 'anyone'
}

/** A key, or the origin that a session's requests must name: its cookie alone proves nothing (RFC 6454 section 7). */
function credentialsOf({ key, baseUrl }: Connection): Record<string, string> {
  return key ? { authorization: `Bearer ${key.value}` } : { origin: new URL(baseUrl).origin }
}

/** The names and values of the cookies that an answer sets (RFC 6265 section 5.2), as a request sends them back. */
export function cookiesOf(header: Headers[string]): { cookie?: string } {
  const pairs = [header ?? []].flat().map(cookie => cookie.replace(/;.*$/s, '').trim())
  return pairs.length > 0 ? { cookie: pairs.join('; ') } : {}
}

/** A query string of what is set. */
function toSearch(query: unknown): string {
  const set = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
  return set.length === 0
    ? ''
    : `?${new URLSearchParams(set.map(([name, value]): [string, string] => [name, String(value)]))}`
}
