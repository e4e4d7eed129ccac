import type * as z from 'zod'
import type { Route } from '../contract/endpoint.ts'
import { pathOf } from '../contract/path.ts'
import type { Call, CallError } from './errors.ts'
import type { Headers, Received } from './http.ts'

export interface Connection {
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly key: { readonly value: string; readonly source: string } | null
  readonly userAgent: string
  /** `shown` omits credentials; `source` is the variable that names the proxy. */
  readonly proxy: { readonly url: string; readonly shown: string; readonly source: string } | null
  /** PEM; null for Node's own certificates. */
  readonly ca: readonly string[] | null
  readonly timeout: number | null
  /** Seconds. */
  readonly maxWait: number
  readonly pause: (seconds: number, signal: AbortSignal) => Promise<void>
  /** Aborted when the user interrupts: only changes already sent finish. */
  readonly interruption: AbortSignal
  readonly trace: Trace | null
}

/** Receives secrets and personal data; must not print them. */
export interface Trace {
  follow(
    call: Call,
    request: { readonly headers: Readonly<Record<string, string>>; readonly body: string | undefined },
    send: () => Promise<Received>,
  ): Promise<Received>
  waits(error: CallError, seconds: number, next: number): void
}

export interface Input {
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
  /** Not JSON, or already serialized. */
  readonly upload?: { readonly bytes: Uint8Array; readonly type: string }
  readonly idempotencyKey?: string | undefined
  /** RFC 7240; an instance may ignore it. */
  readonly prefer?: 'return=minimal'
  /** `pages` is a PageResponse. */
  readonly as?: 'text' | 'bytes' | 'pages'
  readonly onResponse?: ((response: ResponseInfo) => void) | undefined
  /** Called after each failed attempt that may have been carried out. */
  readonly onLost?: ((error: CallError) => void) | undefined
  /** The body makes it idempotent. */
  readonly isIdempotent?: boolean
  /** Default: a response with another resource's id is a ContractError. */
  readonly checksId?: boolean
}

export interface ResponseInfo {
  readonly status: number
  readonly requestId: string | null
  /** The instance's clock, ms since 1970. */
  readonly at: number | null
}

export const jsonType = 'application/json'

/** Loads the response's schema for a body that is not exact. */
export type Target = Route & {
  readonly response: z.ZodType | (() => Promise<z.ZodType>)
  /** True only if the schema would return the body unchanged. */
  readonly isExact?: ((body: unknown) => boolean) | undefined
}

export type Deliver = (target: Target, input: Input) => Promise<unknown>

export function commonHeaders({ key, baseUrl, userAgent }: Connection): Record<string, string> {
  return {
    // A session must name its origin (RFC 6454 section 7).
    ...(key ? { authorization: `Bearer ${key.value}` } : { origin: new URL(baseUrl).origin }),
    'user-agent': userAgent,
    accept: 'application/json',
    'accept-encoding': 'identity',
  }
}

export function ownHeaders({ body, upload, idempotencyKey, prefer, as }: Input): Record<string, string> {
  return {
    ...(as === 'bytes' && { accept: '*/*' }),
    ...(as === 'pages' && { accept: 'application/x-ndjson, application/json;q=0.9' }),
    ...(body !== undefined && { 'content-type': jsonType }),
    ...(upload && { 'content-type': upload.type }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(prefer !== undefined && { prefer }),
  }
}

/** POSTs that are idempotent with any body. */
const idempotentPosts = new Set([
  '/api/v1/consents/:id/restore',
  '/api/v1/subjects/purge',
  '/api/v1/sites/:id/notices/:version/publish',
])

/** POSTs that only read, because an identifier belongs in no URL. */
const reads = new Set([
  ...['/api/v1/subjects/near-matches', '/api/v1/subjects/hmacs', '/api/v1/subjects/sealed'],
  '/api/v1/consents/:id/evidence',
  '/api/v1/subjects/check',
])

/** A sign-in counts as idempotent: it only creates another session. */
export function callOf(
  connection: Pick<Connection, 'baseUrl' | 'key' | 'proxy'>,
  route: Pick<Route, 'method' | 'path' | 'access' | 'scope'>,
  { params, query, body }: Input,
): Call {
  const { method, path } = route
  const isDryRun = (body as { dry_run?: unknown } | undefined)?.dry_run === true
  const isRead = method === 'GET' || reads.has(path) || isDryRun
  return {
    method,
    path,
    url: connection.baseUrl + pathOf(route, params) + toSearch(query),
    id: (params as { id?: string } | undefined)?.id ?? null,
    scopes: [route.scope ?? []].flat(),
    keySource: connection.key?.source ?? null,
    proxy: connection.proxy,
    idempotent: isRead || method !== 'POST' || idempotentPosts.has(path) || isSignIn(connection, route),
    isRead,
  }
}

export function isSignIn(
  { key }: Pick<Connection, 'key'>,
  { method, access }: Pick<Route, 'method' | 'access'>,
): boolean {
  return !key && method === 'POST' && access === 'anyone'
}

/** RFC 6265 section 5.2. */
export function cookieHeader(setCookie: Headers[string]): { cookie?: string } {
  const pairs = [setCookie ?? []].flat().map(cookie => cookie.replace(/;.*$/s, '').trim())
  return pairs.length > 0 ? { cookie: pairs.join('; ') } : {}
}

function toSearch(query: unknown): string {
  const set = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
  if (set.length === 0) return ''
  return `?${new URLSearchParams(set.map(([name, value]): [string, string] => [name, String(value)]))}`
}
