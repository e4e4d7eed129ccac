import { type Endpoint, pathOf } from '../contract/endpoint.ts'
import type { Call, CallError } from './errors.ts'
import type { Headers, Received } from './http.ts'

/** Where requests go, who sends them, and their limits. */
export interface Connection {
  /** The instance's base address, without a slash at the end. */
  readonly baseUrl: string
  /**
   * The key that goes with each request, and its source for error messages. Without one a user signs in first: the cookies
   * that the instance then sets are kept in memory, and go with each request after it.
   */
  readonly key: { readonly value: string; readonly source: string } | null
  readonly userAgent: string
  /** The proxy to go through, its address as it may be shown, and the variable that names it. */
  readonly proxy: { readonly url: string; readonly shown: string; readonly source: string } | null
  /** Every certificate authority to trust, in PEM; null for Node's own. */
  readonly ca: readonly string[] | null
  /** Milliseconds that a request may take; null for the defaults. */
  readonly timeout: number | null
  /** Seconds to wait at most before a retry. */
  readonly maxWait: number
  /** Resolves after so many seconds; rejects if the signal aborts. */
  readonly pause: (seconds: number, signal: AbortSignal) => Promise<void>
  /** Aborted when the user wants to stop: running changes finish, everything else ends. */
  readonly interruption: AbortSignal
  readonly trace: Trace | null
}

/** An observer of all requests. It is given secrets and personal data, and must hide them in what it shows. */
export interface Trace {
  /** Sends a request once by calling `send`, and reports it and its outcome. */
  follow(
    call: Call,
    request: { readonly headers: Readonly<Record<string, string>>; readonly body: string | undefined },
    send: () => Promise<Received>,
  ): Promise<Received>
  /** Reports that attempt `next` follows after so many seconds, because of `error`. */
  waits(error: CallError, seconds: number, next: number): void
}

/** What a request carries. */
export interface Input {
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
  /** Makes a create that is sent twice happen once, if the instance supports it. */
  readonly idempotencyKey?: string | undefined
  /** A preference (RFC 7240), which an instance may ignore. */
  readonly prefer?: 'return=minimal'
  /** How to read a success: as its text, or as a PageResponse that may be streamed; by the endpoint's schema if not set. */
  readonly as?: 'text' | 'pages'
  /** Called for every complete response, whatever its status. */
  readonly onResponse?: ((response: ResponseInfo) => void) | undefined
  /** Called for every attempt that failed and may have been carried out. */
  readonly onLost?: ((error: CallError) => void) | undefined
  /** True if the body itself makes it idempotent. */
  readonly isIdempotent?: boolean
}

export interface ResponseInfo {
  readonly status: number
  readonly requestId: string | null
  /** The instance's clock: milliseconds since 1970. */
  readonly at: number | null
}

/** Sends a request once, and reads its response. */
export type Deliver = (endpoint: Endpoint, input: Input) => Promise<unknown>

/** Pages as lines if the instance has them (Accept, RFC 9110 section 12.5.1): its Content-Type tells. */
const acceptPages = 'application/x-ndjson, application/json;q=0.9'

/** Returns the headers that go with every request. */
export function commonHeaders(connection: Connection): Record<string, string> {
  return {
    ...credentials(connection),
    'user-agent': connection.userAgent,
    accept: 'application/json',
    'accept-encoding': 'identity',
  }
}

/** Returns the headers that one request adds. */
export function ownHeaders({ body, idempotencyKey, prefer, as }: Input): Record<string, string> {
  return {
    ...(as === 'pages' && { accept: acceptPages }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(prefer !== undefined && { prefer }),
  }
}

/** Describes a request before it is sent. A sign-in counts as idempotent: twice, it makes one more session. */
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

/** A key, or the origin, which a session's requests must name: its cookie alone proves nothing (RFC 6454 section 7). */
function credentials({ key, baseUrl }: Connection): Record<string, string> {
  return key ? { authorization: `Bearer ${key.value}` } : { origin: new URL(baseUrl).origin }
}

/** Returns the cookies that a response sets (RFC 6265 section 5.2) as the header of the requests after it. */
export function cookieHeader(setCookie: Headers[string]): { cookie?: string } {
  const pairs = [setCookie ?? []].flat().map(cookie => cookie.replace(/;.*$/s, '').trim())
  return pairs.length > 0 ? { cookie: pairs.join('; ') } : {}
}

function toSearch(query: unknown): string {
  const set = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
  return set.length === 0
    ? ''
    : `?${new URLSearchParams(set.map(([name, value]): [string, string] => [name, String(value)]))}`
}
