import { ApiError, type Call, ContractError, NetworkError, type ResponseHead } from '../../../src/client/errors.ts'
import { callOf, type Input, ownHeaders } from '../../../src/client/request.ts'
import { withRetries } from '../../../src/client/retry.ts'
import type { Transport } from '../../../src/client/transport.ts'
import type { Endpoint } from '../../../src/contract/endpoint.ts'

/** Without a trailing slash. Includes the path if the page is served below one. */
export const baseUrl = new URL('.', location.href).href.replace(/\/$/, '')

const timeoutMs = 30_000

/** Short, because the user could retry sooner. */
const maxWaitSeconds = 2

/** No retry starts later than this after the first attempt. */
const maxRetryMs = 10_000

const unsupported = () => Promise.reject(new Error('not needed by the page'))

/**
 * Retries reads but no changes: the user sees the error and decides. Calls `onUnauthorized` for each 401 except that of
 * a sign-in.
 */
export function openFetch(onUnauthorized: () => void): Transport {
  async function deliver(call: Call, endpoint: Endpoint, input: Input): Promise<unknown> {
    const { response, bytes } = await attempt(call, input)
    const { status, headers } = response
    const head = headOf(response)
    input.onResponse?.({ ...head, at: numberOrNull(Date.parse(headers.get('date') ?? '')) })
    if (status === 401 && endpoint.access !== 'anyone') onUnauthorized()
    if (status < 300 && input.as === 'bytes') {
      if (isOf(endpoint, headers)) return bytes
      throw new ContractError(call, head, '', 'the response has a different media type')
    }
    const text = new TextDecoder().decode(bytes)
    const body = parse(call, head, text)
    if (status < 300) return input.as === 'text' ? text : body
    throw toError(call, head, body, text)
  }
  const send = (endpoint: Endpoint, input: Input) => {
    const call = callOf({ baseUrl, key: null, proxy: null }, endpoint, input)
    return withRetries(() => deliver(call, endpoint, input), {
      maxWait: call.isRead ? maxWaitSeconds : -1,
      deadline: performance.now() + maxRetryMs,
      mayRepeat: async () => call.isRead === true,
      pause: seconds => new Promise(resolve => setTimeout(resolve, seconds * 1000)),
      onWait: () => {},
      onLost: input.onLost,
    })
  }
  return { send, createRows: unsupported, probe: unsupported, supports: async () => true, close: () => {} }
}

async function attempt(call: Call, input: Input) {
  try {
    const response = await fetch(call.url, {
      method: call.method,
      headers: { accept: 'application/json', ...ownHeaders(input) },
      ...(input.body !== undefined && { body: JSON.stringify(input.body) }),
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    return { response, bytes: new Uint8Array(await response.arrayBuffer()) }
  } catch (cause) {
    const isTimeout = cause instanceof DOMException && cause.name === 'TimeoutError'
    throw new NetworkError(call, { code: isTimeout ? 'TIMEOUT' : 'NO_RESPONSE', message: '' }, true)
  }
}

function headOf({ status, headers }: Response): ResponseHead {
  const retryAfter = Number.parseInt(headers.get('retry-after') ?? '', 10)
  return { status, requestId: headers.get('x-request-id'), retryAfter: numberOrNull(retryAfter), location: null }
}

function isOf({ media = [] }: Endpoint, headers: Headers): boolean {
  return media.includes(headers.get('content-type')?.replace(/\s*;.*$/s, '') ?? '')
}

function toError(call: Call, head: ResponseHead, body: unknown, text: string): ApiError | ContractError {
  const { error, message } = Object(body) as Record<string, unknown>
  if (typeof error === 'string' && typeof message === 'string') return new ApiError(call, head, { error, message })
  return new ContractError(call, head, text, 'the response is not from this service')
}

function parse(call: Call, head: ResponseHead, text: string): unknown {
  try {
    return JSON.parse(text || 'null')
  } catch {
    throw new ContractError(call, head, text, 'the response is not JSON')
  }
}

function numberOrNull(value: number): number | null {
  return Number.isNaN(value) ? null : value
}
