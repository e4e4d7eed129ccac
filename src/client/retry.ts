import { ApiError, type CallError, isCallError, NetworkError } from './errors.ts'

export const maxAttempts = 4

export interface Backoff {
  /** In seconds. Does not retry if the instance asks for a longer wait. */
  readonly maxWait: number
  /** By `performance.now`. Default: none. */
  readonly deadline?: number
  /** Rejects on interruption. */
  readonly pause: (seconds: number) => Promise<void>
  readonly onWait: (error: CallError, seconds: number, next: number) => void
}

interface RetryOptions extends Backoff {
  /** Called after an attempt that the instance may have carried out. */
  readonly mayRepeat: () => Promise<boolean>
  readonly onLost?: ((error: CallError) => void) | undefined
}

/**
 * Exponential backoff with full jitter, up to `maxAttempts`. `isRepeated`: an earlier attempt may have been carried
 * out.
 *
 * @throws if the call is not idempotent, the first error after which it may have been carried out; else the last
 * error
 */
export async function withRetries<T>(
  send: (isRepeated: boolean) => Promise<T>,
  { maxWait, deadline, pause, mayRepeat, onLost, onWait }: RetryOptions,
): Promise<T> {
  let lost: CallError | undefined
  for (let attempt = 1; ; attempt += 1) {
    const result = await send(lost !== undefined).then(value => ({ value }), requireCallError)
    if ('value' in result) return result.value
    if (result.maybeDone) {
      lost ??= result
      onLost?.(result)
    }
    const final = lost && (!lost.call.idempotent || isInterrupted(result)) ? lost : result
    const seconds = backoffSeconds(result, attempt, maxWait, deadline)
    if (seconds === null || (lost && !(await mayRepeat()))) throw final
    onWait(result, seconds, attempt + 1)
    await pause(seconds).catch(() => Promise.reject(final))
  }
}

function requireCallError(error: unknown): CallError {
  if (isCallError(error)) return error
  throw error
}

export function backoffSeconds(
  error: CallError,
  attempt: number,
  maxWait: number,
  deadline = Number.POSITIVE_INFINITY,
): number | null {
  if (attempt >= maxAttempts || !isTemporary(error)) return null
  const asked = error instanceof NetworkError ? 0 : (error.retryAfter ?? 0)
  if (asked > maxWait) return null
  const least = 0.5
  const most = Math.min(8, 2 ** attempt)
  const seconds = Math.max(asked, Math.min(maxWait, least + Math.random() * (most - least)))
  return performance.now() + 1000 * seconds < deadline ? seconds : null
}

/** A signal ends only the read before a repeated change. */
function isInterrupted(error: CallError): boolean {
  return error instanceof NetworkError && error.code === 'interrupted'
}

function isTemporary(error: CallError): boolean {
  if (error instanceof NetworkError) return !error.isPermanent && !ended.includes(error.code)
  if (error instanceof ApiError && error.code === 'quota_exceeded') return false
  return [408, 429, 500, 502, 503, 504].includes(error.status)
}

/** Calls ended by this process. A timer may fire just before the `performance.now` deadline. */
const ended = ['CLOSED', 'DEADLINE', 'interrupted']
