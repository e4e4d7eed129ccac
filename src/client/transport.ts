import { setMaxListeners } from 'node:events'
import type { Route } from '../contract/endpoint.ts'
import type { Row, RowResult } from './batch.ts'
import { consents } from './consents.ts'
import { type Call, ContractError, isCallError } from './errors.ts'
import { attempt, type Headers, type HttpClient, header, openDirect, openProxied, type Received } from './http.ts'
import { repeat } from './repeat.ts'
import {
  type Connection,
  callOf,
  commonHeaders,
  cookieHeader,
  type Deliver,
  type Input,
  isSignIn,
  jsonType,
  ownHeaders,
  type Target,
} from './request.ts'
import { readResponse } from './response.ts'
import { type Backoff, withRetries } from './retry.ts'

export interface Transport {
  send(target: Target, input: Input): Promise<unknown>
  createRows(rows: readonly Row[], common?: Uint8Array): Promise<RowResult[]>
  probe(path: string, timeoutMs: number): Promise<RawResponse>
  supports(route: Route, parameter?: Parameter): Promise<boolean>
  close(): void
}

export interface RawResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** OpenAPI parameter, field of a JSON body, or named schema. */
export interface Parameter {
  readonly in: 'query' | 'header' | 'body' | 'schemas'
  readonly name: string
}

const idempotencyKey: Parameter = { in: 'header', name: 'Idempotency-Key' }

/** Methods reject with a CallError. */
export async function openTransport(connection: Connection): Promise<Transport> {
  const { baseUrl, proxy, ca, maxWait, trace, interruption, key } = connection
  const http = proxy ? await openProxied(proxy.url, ca) : await openDirect(baseUrl.startsWith('https:'), ca)
  const closing = new AbortController()
  const idle = new AbortController() // aborts reads and waits, not changes
  for (const signal of [closing.signal, interruption]) signal.addEventListener('abort', () => idle.abort(signal.reason))
  setMaxListeners(0, closing.signal, idle.signal) // one for each request in flight
  const deliverBy = createDeliver(connection, http, { reads: idle.signal, changes: closing.signal })
  const backoff: Backoff = {
    maxWait,
    pause: seconds => connection.pause(seconds, idle.signal),
    onWait: (error, seconds, next) => trace?.waits(error, seconds, next),
  }

  const newDeadline = () => performance.now() + (connection.timeout ?? Number.POSITIVE_INFINITY)

  async function send(target: Target, input: Input, deadline = newDeadline()): Promise<unknown> {
    interruption.throwIfAborted()
    const deliver: Deliver = (target, input) => deliverBy(target, input, deadline)
    const mayRepeat = async () =>
      callOf(connection, target, input).idempotent ||
      input.isIdempotent === true ||
      (input.idempotencyKey !== undefined && (await supports(consents.create, idempotencyKey).catch(() => false)))
    try {
      return await withRetries(isRepeated => (isRepeated ? repeat(target, input, deliver) : deliver(target, input)), {
        ...backoff,
        deadline,
        mayRepeat,
        onLost: input.onLost,
      })
    } catch (error) {
      if (callOf(connection, target, input).isRead) interruption.throwIfAborted()
      throw error
    }
  }

  let description: Promise<unknown> | undefined
  async function supports(route: Route, parameter?: Parameter): Promise<boolean> {
    description ??= readDescription(send)
    description.catch(() => {
      description = undefined // retry at the next call
    })
    return isDescribed(await description, route, parameter)
  }

  async function createRows(rows: readonly Row[], common?: Uint8Array): Promise<RowResult[]> {
    const { createRows } = await import('./batch.ts')
    const deadline = newDeadline()
    const sendRows = (target: Target, input: Input) => send(target, input, deadline)
    const call = callOf(connection, { ...consents.create, scope: ['write', 'import'] as const }, {})
    return await createRows({ ...backoff, deadline, send: sendRows, call, common }, rows)
  }

  async function probe(path: string, timeoutMs: number): Promise<RawResponse> {
    const keySource = key?.source ?? null
    const call = { method: 'GET', path, url: baseUrl + path, id: null, keySource, proxy, idempotent: true }
    const request = { headers: commonHeaders(connection), body: undefined }
    const limits = { total: timeoutMs, closing: idle.signal }
    const { head, headers, text } = await attempt(http, call, request, limits)
    return { status: head.status, headers, text }
  }

  function close(): void {
    closing.abort(Object.assign(new Error('the command ended'), { code: 'CLOSED' }))
    http.close()
  }

  return { send, createRows, probe, supports, close }
}

/** The returned function sends once, and keeps a sign-in's cookies. */
function createDeliver(
  connection: Connection,
  http: HttpClient,
  closing: { readonly reads: AbortSignal; readonly changes: AbortSignal },
): (target: Target, input: Input, deadline: number) => Promise<unknown> {
  const common = commonHeaders(connection)
  return async (target, input, deadline) => {
    const call = callOf(connection, target, input)
    const body = input.body === undefined ? undefined : JSON.stringify(input.body)
    const headers = { ...common, ...ownHeaders(input) }
    const request = {
      headers,
      body: input.upload?.bytes ?? body,
      asLines: input.as === 'pages',
      asBytes: input.as === 'bytes',
    }
    const limits = {
      total: connection.timeout,
      left: leftOf(connection.timeout, deadline),
      closing: call.isRead ? closing.reads : closing.changes,
    }
    const send = () => attempt(http, call, request, limits)
    const received = await (connection.trace?.follow(call, { headers, body: body ?? jsonOf(input) }, send) ?? send())
    const at = Date.parse(header(received.headers, 'date') ?? '')
    const { status, requestId } = received.head
    input.onResponse?.({ status, requestId, at: Number.isNaN(at) ? null : at })
    const data = await readResponse(target, call, received, input.as)
    if (!input.checksId) requireSameId(target, call, received, data)
    if (isSignIn(connection, target)) Object.assign(common, cookieHeader(received.headers['set-cookie']))
    return data
  }
}

function leftOf(timeout: number | null, deadline: number): number | null {
  return timeout && Math.max(1, deadline - performance.now())
}

/** @throws ContractError if a change's response is about another resource */
function requireSameId({ path, method }: Target, call: Call, { head }: Received, data: unknown): void {
  if (method === 'GET' || call.id === null || !/:id(\/restore)?$/.test(path)) return
  const { id } = Object(data)
  if (typeof id === 'string' && id.toLowerCase() !== call.id.toLowerCase())
    throw new ContractError(call, head, '', `the response is about ${id}`)
}

function jsonOf({ upload }: Input): string | undefined {
  return upload?.type === jsonType ? Buffer.from(upload.bytes).toString() : undefined
}

/** Null if the instance serves none. */
async function readDescription(send: Deliver): Promise<unknown> {
  const { api } = await import('../contract/api.ts')
  try {
    return await send(api.description.get, {})
  } catch (error) {
    if (isCallError(error) && 'status' in error && error.status < 500 && error.status !== 429) return null
    throw error
  }
}

function isDescribed(description: unknown, { path, method }: Route, parameter?: Parameter): boolean {
  const operation = at(description, 'paths', path.replace(/:(\w+)/g, '{$1}'), method.toLowerCase())
  if (parameter === undefined) return operation !== undefined
  if (parameter.in === 'schemas') return at(description, 'components', 'schemas', parameter.name) !== undefined
  if (parameter.in === 'body') {
    const schema = at(operation, 'requestBody', 'content', 'application/json', 'schema')
    const [, name = ''] = /^#\/components\/schemas\/(\w+)$/.exec(String(at(schema, '$ref'))) ?? []
    const fields = at(name === '' ? schema : at(description, 'components', 'schemas', name), 'properties')
    return Object.hasOwn(Object(fields), parameter.name)
  }
  const parameters = at(operation, 'parameters')
  return (
    Array.isArray(parameters) &&
    parameters.some(each => {
      const { name, in: place } = Object(each)
      return place === parameter.in && String(name).toLowerCase() === parameter.name.toLowerCase()
    })
  )
}

function at(value: unknown, ...names: string[]): unknown {
  return names.reduce((inner, name) => (Object(inner) as Record<string, unknown>)[name], value)
}
