import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ContractError, type NetworkError } from '../../../src/client/errors.ts'
import { attempt, type HttpRequest, type HttpResponse } from '../../../src/client/http.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const call = {
  method: 'GET',
  path: '/api/v1/consents',
  url: 'https://consent.example.com/api/v1/consents',
  idempotent: true,
  id: null,
  keySource: 'a test',
  proxy: null,
}

type Send = (request: HttpRequest) => Promise<HttpResponse>

const open = (send: Send, { total = null as number | null, asLines = false } = {}) =>
  attempt(
    { send, close: () => {} },
    call,
    { headers: {}, body: undefined, asLines },
    { total, closing: new AbortController().signal },
  )

/** Sends a request by `send`; returns the error it ends with, and after how many milliseconds. */
async function failing(send: Send, total: number | null = null) {
  const start = Date.now()
  const error = open(send, { total }).catch((cause: NetworkError) => ({
    message: cause.message,
    maybeDone: cause.maybeDone,
    after: Date.now() - start,
  }))
  await vi.runAllTimersAsync()
  return await error
}

const never = <T>() => new Promise<T>(() => {})
const headers = { 'content-type': 'application/json' }

/** Yields a byte at this interval, endlessly. */
async function* drip(seconds: number): AsyncGenerator<Uint8Array> {
  for (;;) {
    await new Promise(resolve => setTimeout(resolve, seconds * 1000))
    yield Buffer.from(' ')
  }
}

/** Ends when the request does, as a connection does. */
async function* until(signal: AbortSignal, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    if (signal.aborted) return
    yield chunk
  }
}

describe('attempt › timeouts', () => {
  it('when there is no connection within 10 s, fails, and nothing was sent', async () => {
    expect(await failing(never)).toEqual({
      message: 'no connection within 10 s',
      maybeDone: false,
      after: 10_000,
    })
  })

  it('when there is no response within 30 s after the request was sent, fails', async () => {
    const failed = await failing(({ onSent }) => {
      setTimeout(onSent, 9000)
      return never()
    })
    expect(failed).toEqual({ message: 'no response within 30 s', maybeDone: true, after: 39_000 })
  })

  it.each([
    [40, 'the response stopped within 30 s', 30_000],
    [20, 'the response was not complete within 300 s', 300_000],
  ])('when a body arrives at one byte every %i s, fails', async (seconds, message, after) => {
    const failed = await failing(async ({ onSent, signal }) => {
      onSent()
      return { status: 200, headers, body: until(signal, drip(seconds)) }
    })
    expect(failed).toEqual({ message, maybeDone: true, after })
  })

  it('a given timeout replaces the defaults', async () => {
    const failed = await failing(({ onSent }) => {
      onSent()
      return never()
    }, 100_000)
    expect(failed).toMatchObject({ message: 'the response was not complete within 100 s', after: 100_000 })
  })

  it('when a connection is too slow, leaves no timer running', async () => {
    let late = () => {}
    await failing(({ onSent }) => {
      late = onSent
      return never()
    })
    late()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('attempt › lines', () => {
  const ndjson = { 'content-type': 'application/x-ndjson' }
  const bodyOf = (chunks: readonly (string | Buffer)[]) =>
    (async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk)
    })()
  const responding =
    (chunks: readonly (string | Buffer)[], status = 200, type = ndjson): Send =>
    async ({ onSent }) => {
      onSent()
      return { status, headers: type, body: bodyOf(chunks) }
    }
  /** Reads all lines; the last element is the error, if there is one. */
  const read = async (send: Send) => {
    const lines: unknown[] = []
    try {
      const { text, rest } = await open(send, { asLines: true })
      lines.push(text)
      for await (const line of rest ?? []) lines.push(line)
    } catch (error) {
      lines.push(error)
    }
    return lines
  }

  it('are the same for any chunks of the body', async () => {
    const whole = Buffer.from('{"a":"ï同👍"}\n\n{"b":2}\n')
    for (let size = 1; size <= whole.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
        whole.subarray(index * size, (index + 1) * size),
      )
      expect(await read(responding(chunks))).toEqual(['{"a":"ï同👍"}', '', '{"b":2}'])
      expect(vi.getTimerCount()).toBe(0)
    }
  })

  it('when they are not UTF-8, throws a ContractError', async () => {
    expect(await read(responding(['1\n', Buffer.from([0x22, 0xff, 0x22, 0x0a])]))).toEqual([
      '1',
      expect.any(ContractError),
    ])
  })

  it.each([
    ['of another type', 200, headers],
    ['of an error', 503, ndjson],
  ])('a body %s is read in full', async (_, status, type) => {
    const { text, rest } = await open(responding(['1\n', '2\n'], status, type), { asLines: true })
    expect({ text, rest }).toEqual({ text: '1\n2\n', rest: null })
  })

  it('when a line does not arrive within 30 s, fails; the time of the reader does not count', async () => {
    const slow = async function* (signal: AbortSignal) {
      yield Buffer.from('1\n')
      yield Buffer.from('2\n')
      await delay(40_000, undefined, { signal })
    }
    const { text, rest } = await open(
      async ({ onSent, signal }) => {
        onSent()
        return { status: 200, headers: ndjson, body: slow(signal) }
      },
      { asLines: true },
    )
    await vi.advanceTimersByTimeAsync(1_000_000)
    expect([text, await rest?.next()]).toEqual(['1', { done: false, value: '2' }])
    await vi.advanceTimersByTimeAsync(1_000_000)
    const start = Date.now()
    const failed = rest?.next().catch((error: NetworkError) => [error.message, Date.now() - start])
    await vi.runAllTimersAsync()
    expect(await failed).toEqual(['the response stopped within 30 s', 30_000])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('when reading stops early, aborts the request', async () => {
    let signal: AbortSignal | undefined
    const { rest } = await open(
      async request => {
        signal = request.signal
        return { status: 200, headers: ndjson, body: bodyOf(['1\n', '2\n', '3\n']) }
      },
      { asLines: true },
    )
    await rest?.next()
    expect(signal?.aborted).toBe(false)
    await rest?.return(undefined)
    expect([signal?.aborted, vi.getTimerCount()]).toEqual([true, 0])
  })
})
