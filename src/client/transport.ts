import { setMaxListeners } from 'node:events'
import { api } from '../contract/api.ts'
import type { BatchRow } from '../contract/batch.ts'
import { consents } from '../contract/consents.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import type { RowAnswer } from './batch.ts'
import { type CallError, isCallError } from './errors.ts'
import { attempt, type Carrier, type Headers, header } from './http.ts'
import { type Connection, callOf, cookiesOf, headersOf, isSignIn } from './request.ts'
import { read, readText } from './response.ts'
import { type Persistence, persist } from './retry.ts'

/** An instance's description of its API (OpenAPI); null where it has none. Throws where it cannot be asked. */
export async function readDescription(
  deliver: (endpoint: Endpoint, input: Input) => Promise<unknown>,
): Promise<unknown> {
  try {
    return await deliver(api.description.get, {})
  } catch (error) {
    if (isCallError(error) && 'status' in error && error.status < 500 && error.status !== 429) return null
    throw error
  }
}

/** A parameter as OpenAPI names it. */
export interface Parameter {
  readonly in: 'query' | 'header'
  readonly name: string
}

/** Whether a description lists an endpoint, and of that a parameter. */
export function lists(description: unknown, { path, method }: Endpoint, parameter?: Parameter): boolean {
  const operation = at(description, 'paths', path.replace(/:(\w+)/g, '{$1}'), method.toLowerCase())
  if (parameter === undefined) return operation !== undefined
  const parameters = at(operation, 'parameters')
  return (
    Array.isArray(parameters) &&
    parameters.some(one => {
      const { name, in: place } = Object(one)
      return place === parameter.in && String(name).toLowerCase() === parameter.name.toLowerCase()
    })
  )
}

function at(value: unknown, ...names: string[]): unknown {
  return names.reduce((inner, name) => (Object(inner) as Record<string, unknown>)[name], value)
}

/** An answer as it came, whatever it is. */
export interface Probed {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Asks once for a path, with so many milliseconds for all of it. Throws a NetworkError or a ContractError. */
export async function probe(
  connection: Connection,
  carrier: Carrier,
  { path, limit, closing }: { readonly path: string; readonly limit: number; readonly closing: AbortSignal },
): Promise<Probed> {
  const { baseUrl, key, proxy } = connection
  const of = { method: 'GET', path, url: baseUrl + path, id: null, keySource: key?.source ?? null }
  const call = { ...of, proxy, idempotent: true }
  const sent = { headers: headersOf(connection), body: undefined }
  const { reply, headers, text } = await attempt(carrier, call, sent, { whole: limit, closing })
  return { status: reply.status, headers, text }
}

export interface Input {
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
  /** What makes a create that is sent twice happen once, where the instance honours it. */
  readonly idempotencyKey?: string | undefined
  /** What is preferred of the answer (RFC 7240); an instance may pass over it. */
  readonly prefer?: 'return=minimal'
  /** Whether a success is wanted as the text that it came as. */
  readonly asText?: boolean
  /** Told of every answer to the call that came whole, whatever it says. */
  readonly onAnswer?: ((answer: Answered) => void) | undefined
  /** Told of every attempt that failed, and may have been carried out all the same. */
  readonly onLost?: ((error: CallError) => void) | undefined
  /** Whether it happens once however often it is sent, for what is in it says so. */
  readonly isRepeatable?: boolean
}

/** What an answer says of itself, beside what it says. */
export interface Answered {
  readonly status: number
  /** The instance's name for the request. */
  readonly requestId: string | null
  /** The instance's clock: milliseconds since 1970. */
  readonly at: number | null
}

export interface Transport {
  send(endpoint: Endpoint, input: Input): Promise<unknown>
  /** Creates records with one request, each of which has a key of its own. */
  sendRows(rows: readonly BatchRow[]): Promise<RowAnswer[]>
  /** Asks once for a path, with so many milliseconds for all of it. Throws a NetworkError or a ContractError. */
  probe(path: string, limit: number): Promise<Probed>
  offers(endpoint: Endpoint, parameter?: Parameter): Promise<boolean>
  close(): void
}

const idempotencyKey: Parameter = { in: 'header', name: 'Idempotency-Key' }

type Deliver = (endpoint: Endpoint, input: Input) => Promise<unknown>

/** Sends the contract's requests to one instance. Each fails with an ApiError, a NetworkError or a ContractError. */
export async function openTransport(connection: Connection): Promise<Transport> {
  const carrier = await openCarrier(connection)
  const { maxWait, trace, interruption } = connection
  const closing = new AbortController()
  const idle = new AbortController() // what ends reads and waits, and leaves changes alone
  for (const signal of [closing.signal, interruption])
    signal.addEventListener('abort', () => idle.abort(signal.reason))
  setMaxListeners(0, closing.signal, idle.signal) // one for each request that is under way
  const deliver = opened(connection, carrier, { reading: idle.signal, changing: closing.signal })
  let description: Promise<unknown> | undefined
  const patience: Pick<Persistence, 'maxWait' | 'pause' | 'onWait'> = {
    maxWait,
    pause: seconds => connection.pause(seconds, idle.signal),
    onWait: (error, seconds, next) => trace?.waits(error, seconds, next),
  }
  const send = async (endpoint: Endpoint, input: Input) => {
    interruption.throwIfAborted()
    try {
      return await persist(isRepeated => (isRepeated ? again : deliver)(endpoint, input), {
        ...patience,
        mayRepeat: async () =>
          callOf(connection, endpoint, input).idempotent ||
          input.isRepeatable === true ||
          (input.idempotencyKey !== undefined &&
            (await offers(consents.create, idempotencyKey).catch(() => false))),
        onLost: input.onLost,
      })
    } catch (error) {
      if (endpoint.method === 'GET') interruption.throwIfAborted()
      throw error
    }
  }
  const again: Deliver = async (endpoint, input) => {
    const { changeAgain, removeAgain } = await import('./settle.ts')
    if (endpoint.method === 'PUT') return await changeAgain(endpoint, input, deliver)
    return await (endpoint.method === 'DELETE' ? removeAgain : resend)(endpoint, input, deliver)
  }
  const offers = async (endpoint: Endpoint, parameter?: Parameter) => {
    const { readDescription, lists } = await import('./transport.ts')
    description ??= readDescription(send)
    description.catch(() => {
      description = undefined // it could not be asked, and may be next time
    })
    return lists(await description, endpoint, parameter)
  }
  const close = () => {
    closing.abort(Object.assign(new Error('the command ended'), { code: 'CLOSED' }))
    carrier.close()
  }
  const probe = async (path: string, limit: number) =>
    await (await import('./transport.ts')).probe(connection, carrier, { path, limit, closing: idle.signal })
  const sendRows = async (rows: readonly BatchRow[]) => {
    const { sendRows } = await import('./batch.ts')
    return await sendRows({ ...patience, send, call: callOf(connection, consents.create, {}) }, rows)
  }
  return { send, sendRows, probe, offers, close }
}

const resend = (endpoint: Endpoint, input: Input, deliver: Deliver) => deliver(endpoint, input)

async function openCarrier({ baseUrl, proxy, ca }: Connection): Promise<Carrier> {
  if (proxy) return (await import('./http.ts')).openProxied(proxy.url, ca)
  return await (await import('./http.ts')).openDirect(baseUrl.startsWith('https:'), ca)
}

/** Sends a call once; the cookies of a sign-in go with the calls after it. */
function opened(
  connection: Connection,
  carrier: Carrier,
  ends: { readonly reading: AbortSignal; readonly changing: AbortSignal },
): Deliver {
  const common = headersOf(connection)
  return async (endpoint, input) => {
    const call = callOf(connection, endpoint, input)
    const body = input.body === undefined ? undefined : JSON.stringify(input.body)
    const headers = {
      ...common,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(input.idempotencyKey !== undefined && { 'idempotency-key': input.idempotencyKey }),
      ...(input.prefer !== undefined && { prefer: input.prefer }),
    }
    const closing = endpoint.method === 'GET' ? ends.reading : ends.changing
    const limits = { whole: connection.timeout, closing }
    const send = () => attempt(carrier, call, { headers, body }, limits)
    const answer = await (connection.trace?.follow(call, { headers, body }, send) ?? send())
    const at = Date.parse(header(answer.headers, 'date') ?? '')
    const { status, requestId } = answer.reply
    input.onAnswer?.({ status, requestId, at: Number.isNaN(at) ? null : at })
    const data = (input.asText ? readText : read)(endpoint, call, answer)
    if (isSignIn(connection, endpoint)) Object.assign(common, cookiesOf(answer.headers['set-cookie']))
    return data
  }
}
