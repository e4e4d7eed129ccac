import { Agent, EnvHttpProxyAgent, request } from 'undici'
import { type Endpoint, ErrorBody } from '../contract/index.ts'
import { ApiError, type Call, ContractError, NetworkError } from './errors.ts'

/** Where requests go and who sends them. */
export interface Connection {
  /** The instance's base address, without a slash at the end. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Where the key came from, for whoever has to mend it. */
  readonly keySource: string
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
  close(): Promise<void>
}

/** Milliseconds: to connect, until the headers of an answer, between two pieces of its body. */
const timeouts = { connect: { timeout: 10_000 }, headersTimeout: 30_000, bodyTimeout: 30_000 }

/** Sends the contract's requests to one instance. Each fails with an ApiError, a NetworkError or a ContractError. */
export function openTransport(connection: Connection): Transport {
  const dispatcher = connection.proxies
    ? new EnvHttpProxyAgent({ ...timeouts, ...connection.proxies })
    : new Agent(timeouts)
  const headers = {
    authorization: `Bearer ${connection.apiKey}`,
    'user-agent': connection.userAgent,
    accept: 'application/json',
  }
  return {
    close: () => dispatcher.close(),
    send: async (endpoint, { params, query, body }) => {
      const { method } = endpoint
      const url = connection.baseUrl + fillPath(endpoint.path, params) + toSearch(query)
      const id = (params as { id?: string } | undefined)?.id ?? null
      const { keySource } = connection
      const call = { method, url, id, keySource, idempotent: method !== 'POST' }
      const content = body === undefined ? {} : { body: JSON.stringify(body) }
      const type = body === undefined ? {} : { 'content-type': 'application/json' }
      try {
        const answer = await request(url, {
          method,
          dispatcher,
          headers: { ...headers, ...type },
          ...content,
        })
        const reply = { status: answer.statusCode, requestId: first(answer.headers['x-request-id']) }
        return read(endpoint, call, reply, await answer.body.text())
      } catch (error) {
        if (error instanceof ApiError || error instanceof ContractError) throw error
        throw new NetworkError(call, error)
      }
    },
  }
}

function read(
  endpoint: Endpoint,
  call: Call,
  reply: { status: number; requestId: string | null },
  text: string,
): unknown {
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

function first(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null
}
