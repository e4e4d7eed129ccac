import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { NetworkError } from '../../../src/client/errors.ts'
import { type Answer, attempt, type Exchange } from '../../../src/client/http.ts'

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

/** Sends a request by `exchange`, and gives the error it ends with, and after how many seconds. */
async function failing(exchange: (request: Exchange) => Promise<Answer>, whole: number | null = null) {
  const began = Date.now()
  const limits = { whole, closing: new AbortController().signal }
  const request = { headers: {}, body: undefined }
  const error = attempt({ exchange, close: () => {} }, call, request, limits).catch(
    (cause: NetworkError) => ({
      message: cause.message,
      maybeDone: cause.maybeDone,
      after: Date.now() - began,
    }),
  )
  await vi.runAllTimersAsync()
  return await error
}

const never = <T>() => new Promise<T>(() => {})
const headers = { 'content-type': 'application/json' }

/** A byte every so many seconds, without an end. */
async function* drip(seconds: number): AsyncGenerator<Uint8Array> {
  for (;;) {
    await new Promise(resolve => setTimeout(resolve, seconds * 1000))
    yield Buffer.from(' ')
  }
}

it('a connection is waited for for 10 s, and then nothing was sent', async () => {
  expect(await failing(never)).toEqual({
    message: 'no connection within 10 s',
    maybeDone: false,
    after: 10_000,
  })
})

it('an answer is waited for for 30 s after the request was sent', async () => {
  const failed = await failing(({ onSent }) => {
    setTimeout(onSent, 9000)
    return never()
  })
  expect(failed).toEqual({ message: 'it did not answer within 30 s', maybeDone: true, after: 39_000 })
})

it.each([
  [40, 'its answer stopped within 30 s', 30_000],
  [20, 'the answer was not complete within 300 s', 300_000],
])('a body that comes a byte every %i s has an end', async (seconds, message, after) => {
  const failed = await failing(async ({ onSent, signal }) => {
    onSent()
    return { status: 200, headers, body: limited(drip(seconds), signal) }
  })
  expect(failed).toEqual({ message, maybeDone: true, after })
})

it('a limit of one’s own takes the place of the others', async () => {
  const failed = await failing(({ onSent }) => {
    onSent()
    return never()
  }, 100_000)
  expect(failed).toMatchObject({ message: 'the answer was not complete within 100 s', after: 100_000 })
})

it('a connection that comes too late keeps nobody waiting', async () => {
  let late = () => {}
  await failing(({ onSent }) => {
    late = onSent
    return never()
  })
  late()
  expect(vi.getTimerCount()).toBe(0)
})

/** Ends when the request does, as a connection does. */
async function* limited(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    if (signal.aborted) return
    yield piece
  }
}
