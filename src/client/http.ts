import { isUtf8 } from 'node:buffer'
import type { Dispatcher } from 'undici'
import { type Call, ContractError, NetworkError, type ResponseHead } from './errors.ts'

export type Headers = Readonly<Record<string, string | string[] | undefined>>

export interface HttpRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly signal: AbortSignal
  /** Called before the first byte is sent. */
  readonly onSent: () => void
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: AsyncIterable<Uint8Array>
}

/** Follows no redirects. */
export interface HttpClient {
  send(request: HttpRequest): Promise<HttpResponse>
  close(): void
}

/** First value; `name` in lower case. */
export function header(headers: Headers, name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}

/** Node's own HTTP: undici takes many times as long to load. `ca` lists all trusted authorities, in PEM. */
export async function openDirect(isTls: boolean, ca: readonly string[] | null): Promise<HttpClient> {
  const { Agent, request } = isTls ? await import('node:https') : await import('node:http')
  const agent = new Agent({ keepAlive: true, ...(isTls && ca && { ca: [...ca] }) })
  const send = ({ method, url, headers, body, signal, onSent }: HttpRequest) =>
    new Promise<HttpResponse>((resolve, reject) => {
      if (url.port === '0') return reject(new Error('port 0 is not a valid port')) // Node would use the default port
      if (signal.aborted) return reject(signal.reason)
      const outgoing = request(url, { method, headers: { ...headers }, agent })
      // Passing the signal to Node makes a request a third slower.
      signal.addEventListener('abort', () => outgoing.destroy(signal.reason), { once: true })
      outgoing.once('socket', socket => {
        if (outgoing.reusedSocket) onSent()
        else socket.once(isTls ? 'secureConnect' : 'connect', onSent)
      })
      let hasResponse = false
      outgoing.once('response', incoming => {
        hasResponse = true
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming })
      })
      outgoing.on('error', reject)
      outgoing.once('close', () => {
        if (!hasResponse) reject(new Error('the connection was closed without a response'))
      })
      outgoing.end(body)
    })
  return { send, close: () => agent.destroy() }
}

export async function openProxied(proxy: string, ca: readonly string[] | null): Promise<HttpClient> {
  const { ProxyAgent, request } = await import('undici')
  const trust = ca ? { ca: [...ca] } : {}
  const agent = new ProxyAgent({
    uri: proxy,
    requestTls: trust,
    proxyTls: trust,
    headersTimeout: 0, // the timer of each request replaces these
    bodyTimeout: 0,
  })
  return {
    close: () => void agent.destroy().catch(() => {}),
    send: async ({ method, url, headers, body, signal, onSent }) => {
      const dispatcher = agent.compose(callOnStart(onSent))
      const { statusCode, ...response } = await request(url, {
        method: method as Dispatcher.HttpMethod,
        headers,
        signal,
        dispatcher,
        ...(body !== undefined && { body }),
      }).catch(error => {
        throw withProxyCode(error)
      })
      return { status: statusCode, headers: response.headers, body: response.body }
    },
  }
}

function callOnStart(onStart: () => void): Dispatcher.DispatcherComposeInterceptor {
  return dispatch => (options, handler) =>
    dispatch(options, {
      onRequestStart: (...args) => {
        onStart()
        handler.onRequestStart?.(...args)
      },
      onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    })
}

function withProxyCode(error: Error): Error {
  const status = /^Proxy response \((\d+)\)/.exec(error.message)?.[1]
  if (status === undefined) return error
  return Object.assign(new Error(`the proxy responded with ${status}`), { code: `PROXY_${status}` })
}

export interface Received {
  readonly head: ResponseHead
  readonly headers: Headers
  readonly text: string
  /** With `asBytes`, the bytes; an error is in `text`. */
  readonly bytes?: Buffer
  /** Lines of a streamed body. Fails with a NetworkError or a ContractError. */
  readonly rest: AsyncGenerator<string> | null
}

interface Attempt {
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array | undefined
  readonly asLines?: boolean
  readonly asBytes?: boolean
}

interface Limits {
  /** Milliseconds for a call with its response; restarted for each streamed line. */
  readonly total: number | null
  readonly left?: number | null
  readonly closing: AbortSignal
}

const defaultTimeoutsMs = { connect: 10_000, silence: 30_000, total: 300_000 }

/** Per body, or per streamed line: many times the size of a page. */
const maxBodyBytes = 64 * 1024 * 1024

/**
 * Sends a request once.
 *
 * @throws NetworkError; ContractError for a body that is encoded, too large or not UTF-8
 */
export async function attempt(
  http: HttpClient,
  call: Call,
  { headers, body, asLines = false, asBytes = false }: Attempt,
  limits: Limits,
): Promise<Received> {
  const timer = startTimer(limits)
  let isSent = false
  let isStreaming = false
  const onSent = () => {
    isSent = true
    timer.expectData('no response')
  }
  const fail = (error: unknown) => {
    if (error instanceof NetworkError) return error
    const cause = timer.signal.aborted ? timer.signal.reason : error
    timer.abort()
    return error instanceof ContractError ? error : new NetworkError(call, cause, isSent)
  }
  try {
    const { method } = call
    const request = { method, url: new URL(call.url), headers, body, signal: timer.signal, onSent }
    const response = await timer.race(http.send(request))
    if (response.status < 200) throw new Error('the response switched to another protocol') // 101
    const head = readHead(response)
    const encoding = header(response.headers, 'content-encoding')?.toLowerCase() ?? 'identity'
    if (encoding !== 'identity') {
      const problem = `the response is encoded (${encoding}), which Accept-Encoding does not allow`
      throw new ContractError(call, head, '', problem)
    }
    const incoming = { call, head, timer, data: response.body }
    isStreaming = asLines && isNdjson(response)
    if (!isStreaming) {
      const bytes = await timer.race(collect(incoming))
      if (asBytes && head.status === 200) return { head, headers: response.headers, text: '', bytes, rest: null }
      return { head, headers: response.headers, text: decode(incoming, bytes), rest: null }
    }
    const rest = readLines(incoming, fail)
    const first = await timer.race(rest.next())
    if (first.done) throw new Error('the response ended before its first line')
    return { head, headers: response.headers, text: first.value, rest }
  } catch (error) {
    isStreaming = false
    throw fail(error)
  } finally {
    if (!isStreaming) timer.end()
  }
}

function readHead({ status, headers }: HttpResponse): ResponseHead {
  const wait = header(headers, 'retry-after') ?? ''
  const seconds = /^\d+$/.test(wait) ? Number(wait) : Math.ceil((Date.parse(wait) - Date.now()) / 1000)
  return {
    status,
    requestId: readRequestId(headers),
    retryAfter: Number.isNaN(seconds) ? null : Math.max(0, seconds),
    location: header(headers, 'location'),
    isNotApplied: header(headers, 'request-not-applied') === 'true',
  }
}

/** Ignores a very long request id, which every job entry and document would repeat. */
function readRequestId(headers: Headers): string | null {
  const id = header(headers, 'x-request-id')
  return id !== null && id.length <= longestRequestId ? id : null
}

const longestRequestId = 255

function isNdjson({ status, headers }: HttpResponse): boolean {
  return status === 200 && /^application\/x-ndjson\b/i.test(header(headers, 'content-type') ?? '')
}

interface Body {
  readonly call: Call
  readonly head: ResponseHead
  readonly timer: Timer
  readonly data: HttpResponse['body']
}

const stopped = 'the response stopped'

async function collect(body: Body): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  body.timer.expectData(stopped)
  for await (const chunk of body.data) {
    body.timer.expectData(stopped)
    size = requireSize(body, size + chunk.length)
    chunks.push(chunk)
  }
  return join(chunks)
}

/** The timer pauses while the consumer works. */
async function* readLines(body: Body, fail: (error: unknown) => Error): AsyncGenerator<string> {
  const { timer } = body
  let chunks: Uint8Array[] = []
  let size = 0
  let isComplete = false
  try {
    timer.expectData(stopped)
    for await (const chunk of body.data) {
      timer.expectData(stopped)
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        chunks.push(chunk.subarray(start, end))
        timer.pause()
        yield decode(body, join(chunks))
        timer.resume(stopped)
        chunks = []
        size = 0
        start = end + 1
      }
      if (start === chunk.length) continue
      chunks.push(chunk.subarray(start))
      size = requireSize(body, size + chunk.length - start)
    }
    if (size > 0) throw new Error(`${stopped} in the middle of a line`)
    isComplete = true
  } catch (error) {
    throw fail(error)
  } finally {
    if (!isComplete) timer.abort()
    timer.end()
  }
}

function requireSize({ call, head }: Body, size: number): number {
  if (size <= maxBodyBytes) return size
  throw new ContractError(call, head, '', `the response is larger than ${maxBodyBytes / 1024 / 1024} MiB`)
}

function join(chunks: readonly Uint8Array[]): Buffer {
  const [only] = chunks
  return chunks.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(chunks)
}

function decode({ call, head }: Body, bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ContractError(call, head, bytes.toString('utf8', 0, 800), 'the response is not UTF-8')
  const text = bytes.toString()
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

type Timer = ReturnType<typeof startTimer>

/** Timeouts for connecting, for silence, and in total. */
function startTimer({ total, left = total, closing }: Limits) {
  const controller = new AbortController()
  const { signal } = controller
  // Not AbortSignal.any: some Node versions keep its signals as long as `closing`.
  const close = () => controller.abort(closing.reason)
  if (closing.aborted) close()
  closing.addEventListener('abort', close)
  const abortAfter = (ms: number, problem: string, error = timeoutError('TIMEOUT', problem, ms)) =>
    setTimeout(() => controller.abort(error), ms)
  const startTotal = (ms: number | null) => {
    const shown = total ?? defaultTimeoutsMs.total
    const problem = 'the response was not complete'
    return abortAfter(ms ?? shown, problem, timeoutError(total === null ? 'TIMEOUT' : 'DEADLINE', problem, shown))
  }
  let totalTimer = startTotal(left)
  let silenceTimer = abortAfter(Math.min(defaultTimeoutsMs.connect, left ?? Infinity), 'no connection')
  let isOver = false
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  aborted.catch(() => {}) // it may abort when nothing awaits it
  const expectData = (problem: string) => {
    clearTimeout(silenceTimer)
    if (total === null && !isOver) silenceTimer = abortAfter(defaultTimeoutsMs.silence, problem)
  }
  const pause = () => {
    clearTimeout(silenceTimer)
    clearTimeout(totalTimer)
  }
  return {
    signal,
    race: <T>(work: Promise<T>) => Promise.race([work, aborted]),
    expectData,
    pause,
    resume: (problem: string) => {
      totalTimer = startTotal(total)
      expectData(problem)
    },
    abort: () => controller.abort(),
    end: () => {
      isOver = true
      pause()
      closing.removeEventListener('abort', close)
    },
  }
}

/** `DEADLINE`: the user's limit for all attempts. */
function timeoutError(code: 'TIMEOUT' | 'DEADLINE', problem: string, ms: number): Error {
  return Object.assign(new Error(`${problem} within ${ms / 1000} s`), { code })
}
