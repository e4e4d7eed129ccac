import { type Endpoint, pathOf } from '../contract/endpoint.ts'
import type { Call, CallError } from './errors.ts'
import type { Headers, Received } from './http.ts'
import type { Input } from './transport.ts'

/** Where requests go, who sends them, and how patiently. */
export interface Connection {
  /** The instance's base address, without a slash at the end. */
  readonly baseUrl: string
  /**
   * The key that goes with each request, and where it came from, for whoever has to mend it. Without one somebody signs
   * in first: the cookies that the instance then sets are held in memory, and go with each request after it.
   */
  readonly key: { readonly value: string; readonly source: string } | null
  readonly userAgent: string
  /** The proxy to go through, its address as it may be shown, and what names it; null for none. */
  readonly proxy: { readonly url: string; readonly shown: string; readonly source: string } | null
  /** Every certificate authority to trust, in PEM; null for the usual ones. */
  readonly ca: readonly string[] | null
  /** Milliseconds that a request may take; null for what is usual. */
  readonly timeout: number | null
  /** Seconds that are waited at most before a request is sent again. */
  readonly maxWait: number
  /** Resolves after so many seconds; rejects when the signal comes. */
  readonly pause: (seconds: number, signal: AbortSignal) => Promise<void>
  /** Aborted when the user wants to stop: what is being changed is finished, nothing is begun, and nothing waited for. */
  readonly interruption: AbortSignal
  /** Who is told what is sent and answered; null for nobody. */
  readonly trace: Trace | null
}

/** Whoever wants to see the requests. What it tells must hide secrets and personal data: it is given all of them. */
export interface Trace {
  /** Sends a request once, and tells of it and of what comes of it. */
  follow(
    call: Call,
    request: { readonly headers: Readonly<Record<string, string>>; readonly body: string | undefined },
    send: () => Promise<Received>,
  ): Promise<Received>
  /** Tells why a call is sent again, after so many seconds, for the `next` time. */
  waits(error: CallError, seconds: number, next: number): void
}

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
