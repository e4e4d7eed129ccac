import { isUtf8 } from 'node:buffer'
import { type Dispatcher, ProxyAgent, request } from 'undici'
import { type Call, ContractError, NetworkError, type Reply } from './errors.ts'

/** A request as it goes over the wire. */
export interface Exchange {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Ends it, wherever it is. */
  readonly signal: AbortSignal
  /** Called before the first byte of it can leave: without this call nothing has reached the instance. */
  readonly onSent: () => void
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>

/** The head of an answer, and its body as it comes. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: AsyncIterable<Uint8Array>
}

/** What takes requests to one instance and brings answers back. It follows no redirect and tries nothing twice. */
export interface Carrier {
  exchange(request: Exchange): Promise<Answer>
  /** Drops every connection. */
  close(): void
}

/** The first value of a header, in lower case; null where there is none. */
export function header(headers: Headers, name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}

/** Node's own HTTP, which costs a process a fraction of what a library does. `ca`: every authority to trust, in PEM. */
export async function openDirect(isTls: boolean, ca: readonly string[] | null): Promise<Carrier> {
  const trust = ca ? { ca: [...ca] } : {}
  const { request, agent } = isTls ? await secure(trust) : await plain()
  const exchange = ({ method, url, headers, body, signal, onSent }: Exchange) =>
    new Promise<Answer>((resolve, reject) => {
      if (url.port === '0') return reject(new Error('no server is at port 0')) // Node would take the usual port
      if (signal.aborted) return reject(signal.reason)
      const outgoing = request(url, { method, headers: { ...headers }, agent })
      // Given the signal, Node would watch the end of every request for it, at a third of what the request costs.
      signal.addEventListener('abort', () => outgoing.destroy(signal.reason), { once: true })
      outgoing.once('socket', socket => {
        if (outgoing.reusedSocket) onSent()
        else socket.once(isTls ? 'secureConnect' : 'connect', onSent)
      })
      let isAnswered = false
      outgoing.once('response', incoming => {
        isAnswered = true
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming })
      })
      outgoing.on('error', reject)
      outgoing.once('close', () => {
        if (!isAnswered) reject(new Error('the connection was closed without an answer'))
      })
      outgoing.end(body)
    })
  return { exchange, close: () => agent.destroy() }
}

async function plain() {
  const { Agent, request } = await import('node:http')
  return { request, agent: new Agent({ keepAlive: true }) }
}

async function secure(trust: { ca?: string[] }) {
  const { Agent, request } = await import('node:https')
  return { request, agent: new Agent({ keepAlive: true, ...trust }) }
}

/** Requests through a tunnel that a proxy opens. `ca`: every authority to trust, in PEM. */
export function openProxied(proxy: string, ca: readonly string[] | null): Carrier {
  const trust = ca ? { ca: [...ca] } : {}
  const agent = new ProxyAgent({
    uri: proxy,
    requestTls: trust,
    proxyTls: trust,
    headersTimeout: 0, // whoever sends keeps the time
    bodyTimeout: 0,
  })
  return {
    close: () => void agent.destroy().catch(() => {}),
    exchange: async ({ method, url, headers, body, signal, onSent }) => {
      const dispatcher = agent.compose(telling(onSent))
      const answer = await request(url, {
        method: method as Dispatcher.HttpMethod,
        headers,
        signal,
        dispatcher,
        ...(body !== undefined && { body }),
      }).catch(error => {
        throw ofProxy(error)
      })
      return { status: answer.statusCode, headers: answer.headers, body: answer.body }
    },
  }
}

/** Tells when a request gets its connection, which is right before it is written. */
function telling(onSent: () => void): Dispatcher.DispatcherComposeInterceptor {
  return dispatch => (options, handler) =>
    dispatch(options, {
      onRequestStart: (...args) => {
        onSent()
        handler.onRequestStart?.(...args)
      },
      onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    })
}

/** The library tells a proxy's refusal in words alone; here it has a code of its own. */
function ofProxy(error: Error): Error {
  const status = /^Proxy response \((\d+)\)/.exec(error.message)?.[1]
  if (status === undefined) return error
  return Object.assign(new Error(`the proxy answered ${status}`), { code: `PROXY_${status}` })
}

/** An answer that came whole. */
export interface Received {
  readonly reply: Reply
  readonly headers: Headers
  readonly text: string
}

export interface Limits {
  /** Milliseconds from the start of a request to the end of its answer; null for what is usual. */
  readonly whole: number | null
  /** Ends every request that is under way. */
  readonly closing: AbortSignal
}

/** Milliseconds: to connect, for the head of an answer and between two pieces of it, for all of it. */
const usual = { connect: 10_000, silence: 30_000, whole: 300_000 }

/** The largest body that is taken, in bytes: many times what a page of a list can be. */
const largestBody = 64 * 1024 * 1024

/** Sends a request once. Throws a NetworkError that knows whether it was sent, or a ContractError. */
export async function attempt(
  carrier: Carrier,
  call: Call,
  { headers, body }: { headers: Record<string, string>; body: string | undefined },
  limits: Limits,
): Promise<Received> {
  const time = openTimer(limits)
  let isSent = false
  const onSent = () => {
    isSent = true
    time.silence('it did not answer')
  }
  try {
    const { method } = call
    const exchange = { method, url: new URL(call.url), headers, body, signal: time.signal, onSent }
    const answer = await time.within(carrier.exchange(exchange))
    if (answer.status < 200) throw new Error('it changed to another protocol') // 101, unasked
    const reply = replyOf(answer)
    const coding = header(answer.headers, 'content-encoding')?.toLowerCase() ?? 'identity'
    if (coding !== 'identity') {
      throw new ContractError(call, reply, '', `the answer is encoded (${coding}), unasked`)
    }
    const bytes = await time.within(collect(call, reply, answer.body, time))
    return { reply, headers: answer.headers, text: decode(call, reply, bytes) }
  } catch (error) {
    const cause = time.signal.aborted ? time.signal.reason : error
    time.drop()
    throw error instanceof ContractError ? error : new NetworkError(call, cause, isSent)
  } finally {
    time.end()
  }
}

type Timer = ReturnType<typeof openTimer>

/** Keeps the time of one request: connecting, then every silence, and the whole of it. */
function openTimer({ whole, closing }: Limits) {
  const own = new AbortController()
  const { signal } = own
  let isOver = false
  // Not AbortSignal.any: what it makes stays in memory as long as the transport, on some versions of Node.
  const close = () => own.abort(closing.reason)
  if (closing.aborted) close()
  closing.addEventListener('abort', close)
  const after = (milliseconds: number, problem: string) =>
    setTimeout(() => own.abort(timedOut(problem, milliseconds)), milliseconds)
  const total = after(whole ?? usual.whole, 'the answer was not complete')
  let timer = after(Math.min(usual.connect, whole ?? usual.connect), 'no connection')
  const ended = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  ended.catch(() => {}) // it may end while nobody waits
  return {
    signal,
    within: <T>(work: Promise<T>) => Promise.race([work, ended]),
    silence: (problem: string) => {
      clearTimeout(timer)
      if (whole === null && !isOver) timer = after(usual.silence, problem)
    },
    /** Whatever is left of the request goes away with its connection. */
    drop: () => own.abort(),
    end: () => {
      isOver = true
      clearTimeout(timer)
      clearTimeout(total)
      closing.removeEventListener('abort', close)
    },
  }
}

function timedOut(problem: string, milliseconds: number): Error {
  return Object.assign(new Error(`${problem} within ${milliseconds / 1000} s`), { code: 'TIMEOUT' })
}

async function collect(call: Call, reply: Reply, body: Answer['body'], time: Timer): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let size = 0
  time.silence('its answer stopped')
  for await (const piece of body) {
    time.silence('its answer stopped')
    size += piece.length
    if (size > largestBody) {
      throw new ContractError(call, reply, '', `the answer is larger than ${largestBody / 1024 / 1024} MiB`)
    }
    pieces.push(piece)
  }
  return pieces.length === 1 && Buffer.isBuffer(pieces[0]) ? pieces[0] : Buffer.concat(pieces)
}

function decode(call: Call, reply: Reply, bytes: Buffer): string {
  if (!isUtf8(bytes))
    throw new ContractError(call, reply, bytes.toString('utf8', 0, 800), 'the answer is not text in UTF-8')
  const text = bytes.toString()
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

function replyOf({ status, headers }: Answer): Reply {
  const wait = header(headers, 'retry-after') ?? ''
  const seconds = /^\d+$/.test(wait) ? Number(wait) : Math.ceil((Date.parse(wait) - Date.now()) / 1000)
  return {
    status,
    requestId: header(headers, 'x-request-id'),
    retryAfter: Number.isNaN(seconds) ? null : Math.max(0, seconds),
    location: header(headers, 'location'),
  }
}
