import { isDeepStrictEqual } from 'node:util'
import { consents } from '../contract/consents.ts'
import type { Endpoint } from '../contract/index.ts'
import { ApiError, type CallError, isCallError, NetworkError } from './errors.ts'
import type { Deliver, Input } from './request.ts'

export const maxAttempts = 4

export interface Backoff {
  /** Seconds. If an instance asks for a longer wait, there is no retry. */
  readonly maxWait: number
  /** Rejects if the user interrupts. */
  readonly pause: (seconds: number) => Promise<void>
  /** Called before each wait, with the number of the next attempt. */
  readonly onWait: (error: CallError, seconds: number, next: number) => void
}

interface RetryOptions extends Backoff {
  /** Asked after an attempt that may have been carried out. */
  readonly mayRepeat: () => Promise<boolean>
  /** Called for every failed attempt that may have been carried out. */
  readonly onLost?: ((error: CallError) => void) | undefined
}

/**
 * Retries with exponential backoff and full jitter, up to `maxAttempts`. `isRepeated`: an earlier attempt may have been
 * carried out.
 *
 * @throws the error of the first attempt that may have been carried out, if the call must not be repeated: later errors
 *   say nothing about that attempt. Otherwise the last error.
 */
export async function withRetries<T>(
  send: (isRepeated: boolean) => Promise<T>,
  { maxWait, pause, mayRepeat, onLost, onWait }: RetryOptions,
): Promise<T> {
  let lost: CallError | undefined
  for (let attempt = 1; ; attempt += 1) {
    const result = await send(lost !== undefined).then(value => ({ value }), requireCallError)
    if ('value' in result) return result.value
    if (result.maybeDone) {
      lost ??= result
      onLost?.(result)
    }
    const final = lost && !lost.call.idempotent ? lost : result
    const seconds = backoffSeconds(result, attempt, maxWait)
    if (seconds === null || (lost && !(await mayRepeat()))) throw final
    onWait(result, seconds, attempt + 1)
    await pause(seconds).catch(() => Promise.reject(final))
  }
}

function requireCallError(error: unknown): CallError {
  if (isCallError(error)) return error
  throw error
}

/** Returns the seconds before the next attempt; null if there is none. */
export function backoffSeconds(error: CallError, attempt: number, maxWait: number): number | null {
  if (attempt >= maxAttempts || !isTemporary(error)) return null
  const asked = error instanceof NetworkError ? 0 : (error.retryAfter ?? 0)
  if (asked > maxWait) return null
  const least = 0.5
  const most = Math.min(8, 2 ** attempt)
  return Math.max(asked, Math.min(maxWait, least + Math.random() * (most - least)))
}

function isTemporary(error: CallError): boolean {
  if (error instanceof NetworkError) return !permanent.test(error.code)
  if (error instanceof ApiError && error.code === 'quota_exceeded') return false
  return [408, 429, 500, 502, 503, 504].includes(error.status)
}

const permanent =
  /^(ENOTFOUND|EPROTO|CLOSED|PROXY_4\d\d|ERR_INVALID_\w+)$|CERT|ISSUER|SIGNATURE|HOSTNAME_MISMATCH|TLS|SSL/

/** Sends a call again that may have been carried out. */
export async function repeat(endpoint: Endpoint, input: Input, deliver: Deliver): Promise<unknown> {
  if (endpoint.method === 'PUT' && !input.upload) return await repeatChange(endpoint, input, deliver)
  if (endpoint.method === 'DELETE') return await repeatRemoval(endpoint, input, deliver)
  return await deliver(endpoint, input)
}

/** Returns the resource if it has the change already, because sending that again could undo another caller's. */
async function repeatChange(endpoint: Endpoint, input: Input, deliver: Deliver): Promise<unknown> {
  try {
    const present = await deliver({ ...endpoint, method: 'GET' }, { params: input.params })
    const wanted = Object.entries(JSON.parse(JSON.stringify(input.body ?? {})))
    const fields = Object(present)
    if (wanted.every(([name, value]) => isDeepStrictEqual(fields[name], value))) return present
  } catch (error) {
    if (!isCallError(error) || error.maybeDone) throw error
  }
  return await deliver(endpoint, input)
}

/** Sends a removal again. `not_found` then means that it was carried out, unless the resource can be read undeleted. */
async function repeatRemoval(endpoint: Endpoint, input: Input, deliver: Deliver): Promise<unknown> {
  try {
    return await deliver(endpoint, input)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
    const removed = await readRemoved(endpoint, input, deliver).catch(() => undefined)
    if (Object(removed).deleted_at === null) throw error
    if (removed !== undefined) return removed
    const nothing = endpoint.response.safeParse(null)
    if (nothing.success) return nothing.data
    throw error
  }
}

async function readRemoved({ path }: Endpoint, { params }: Input, deliver: Deliver): Promise<unknown> {
  const { id } = (params ?? {}) as { id?: string }
  if (path === consents.remove.path) return await deliver(consents.get, { params, query: { include_deleted: true } })
  const { keys } = await import('../contract/keys.ts')
  if (path !== keys.revoke.path) throw new Error('this resource cannot be read once it is removed')
  const { data } = (await deliver(keys.list, {})) as { data: { id: string; revoked_at: string | null }[] }
  const key = data.find(each => each.id === id && each.revoked_at !== null)
  if (!key) throw new Error('no such key')
  return key
}
