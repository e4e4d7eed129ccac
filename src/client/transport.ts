import { Agent, EnvHttpProxyAgent, request } from 'undici'
import { ErrorBody } from '../contract/errors.ts'
import type { Endpoint } from '../contract/index.ts'
import { ApiError, type Call, ContractError, NetworkError, type Reply } from './errors.ts'
import { type Probed, probe } from './probe.ts'

/** Where requests go and who sends them. */
export interface Connection {
  /** The instance's base address, without a slash at the end. */
  readonly baseUrl: string
  /**
   * The key that goes with each request, and where it came from, for whoever has to mend it. Without one somebody signs
   * in first: the cookies that the instance then sets are held in memory, and go with each request after it.
   */
  readonly key: { readonly value: string; readonly source: string } | null
  readonly userAgent: string
  /** The proxies to go through; null for none. */
  readonly proxies: Proxies | null
}

export interface Proxies {
  readonly httpProxy?: string
  readonly httpsProxy?: string
  readonly noProxy?: string
}

export interface Input {
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
}

export interface Transport {
  send(endpoint: Endpoint, input: Input): Promise<unknown>
  /** Asks once for a path, with so many milliseconds for all of it. Throws a NetworkError. */
  probe(path: string, limit: number): Promise<Probed>
  close(): Promise<void>
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Milliseconds: to connect, until the headers of an answer, between two pieces of its body. */
const timeouts = { connect: { timeout: 10_000 }, headersTimeout: 30_000, bodyTimeout: 30_000 }

/** Sends the contract's requests to one instance. Each fails with an ApiError, a NetworkError or a ContractError. */
export function openTransport(connection: Connection): Transport {
  const dispatcher = connection.proxies
    ? new EnvHttpProxyAgent({ ...timeouts, ...connection.proxies })
    : new Agent(timeouts)
  const headers = {
    ...credentialsOf(connection),
    'user-agent': connection.userAgent,
    accept: 'application/json',
  }
  return {
    close: () => dispatcher.close(),
    probe: (path, limit) => probe(connection, { dispatcher, headers }, path, limit),
    send: async (endpoint, { params, query, body }) => {
      const { method, path } = endpoint
      const url = connection.baseUrl + fillPath(path, params) + toSearch(query)
      const id = (params as { id?: string } | undefined)?.id ?? null
      const keySource = connection.key?.source ?? null
      const isSignIn = !connection.key && endpoint.access === 'anyone'
      // To sign in twice makes no more than another session.
      const call = { method, path, url, id, keySource, idempotent: method !== 'POST' || isSignIn }
      const content = body === undefined ? {} : { body: JSON.stringify(body) }
      const type = body === undefined ? {} : { 'content-type': 'application/json' }
      try {
        const answer = await request(url, {
          method,
          dispatcher,
          headers: { ...headers, ...type },
          ...content,
        })
        const reply = replyOf(answer.statusCode, answer.headers)
        const data = read(endpoint, call, reply, await answer.body.text())
        if (isSignIn) Object.assign(headers, cookiesOf(answer.headers['set-cookie']))
        return data
      } catch (error) {
        if (error instanceof ApiError || error instanceof ContractError) throw error
        throw new NetworkError(call, error)
      }
    },
  }
}

/** A key, or the origin that a session's requests must name: its cookie alone proves nothing (RFC 6454 section 7). */
function credentialsOf({ key, baseUrl }: Connection): Record<string, string> {
  return key ? { authorization: `Bearer ${key.value}` } : { origin: new URL(baseUrl).origin }
}

/** The names and values of the cookies that an answer sets (RFC 6265 section 5.2), as a request sends them back. */
function cookiesOf(header: Headers[string]): { cookie?: string } {
  const pairs = [header ?? []].flat().map(cookie => cookie.replace(/;.*$/s, '').trim())
  return pairs.length > 0 ? { cookie: pairs.join('; ') } : {}
}

function replyOf(status: number, headers: Headers): Reply {
  const wait = first(headers['retry-after']) ?? ''
  const seconds = /^\d+$/.test(wait) ? Number(wait) : Math.ceil((Date.parse(wait) - Date.now()) / 1000)
  return {
    status,
    requestId: first(headers['x-request-id']),
    retryAfter: Number.isNaN(seconds) ? null : Math.max(0, seconds),
  }
}

function read(endpoint: Endpoint, call: Call, reply: Reply, text: string): unknown {
  const isSuccess = reply.status >= 200 && reply.status < 300
  const body = text.trim() === '' ? null : parseJson(text)
  if (body === undefined) throw new ContractError(call, reply, text, 'the answer is not JSON')
  const parsed = (isSuccess ? endpoint.response : ErrorBody).safeParse(body)
  if (parsed.success && isSuccess) return parsed.data
  if (parsed.success) throw new ApiError(call, reply, parsed.data as ErrorBody)
  const place = parsed.error.issues[0]?.path.join('.') || 'whole body'
  throw new ContractError(call, reply, text, `the answer is not of this service (${place})`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fillPath(path: string, params: unknown): string {
  return path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String((params as Record<string, unknown>)[name])),
  )
}

/** A query string of what is set. */
function toSearch(query: unknown): string {
  const set = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
  return set.length === 0
    ? ''
    : `?${new URLSearchParams(set.map(([name, value]): [string, string] => [name, String(value)]))}`
}

function first(header: Headers[string]): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null
}
