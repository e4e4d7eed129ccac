import { isUtf8 } from 'node:buffer'
import { type Call, ContractError, NetworkError, type Reply } from './errors.ts'
import { type Answer, type Carrier, type Headers, header } from './exchange.ts'

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
