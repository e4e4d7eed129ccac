import { setMaxListeners } from 'node:events'
import type { BatchRow } from '../contract/batch.ts'
import { consents } from '../contract/consents.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import { read, readText } from './answer.ts'
import { attempt } from './attempt.ts'
import { callOf, cookiesOf, headersOf, isSignIn } from './call.ts'
import type { Connection } from './connection.ts'
import type { CallError } from './errors.ts'
import { type Carrier, header } from './exchange.ts'
import type { Parameter } from './offers.ts'
import type { Probed } from './probed.ts'
import { type Persistence, persist } from './retry.ts'
import type { RowAnswer } from './rows.ts'

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
    const { readDescription, lists } = await import('./offers.ts')
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
    await (await import('./probed.ts')).probe(connection, carrier, { path, limit, closing: idle.signal })
  const sendRows = async (rows: readonly BatchRow[]) => {
    const { sendRows } = await import('./rows.ts')
    return await sendRows({ ...patience, send, call: callOf(connection, consents.create, {}) }, rows)
  }
  return { send, sendRows, probe, offers, close }
}

const resend = (endpoint: Endpoint, input: Input, deliver: Deliver) => deliver(endpoint, input)

async function openCarrier({ baseUrl, proxy, ca }: Connection): Promise<Carrier> {
  if (proxy) return (await import('./proxied.ts')).openProxied(proxy.url, ca)
  return await (await import('./direct.ts')).openDirect(baseUrl.startsWith('https:'), ca)
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
