import { ApiError, type CallError, isCallError, NetworkError } from './errors.ts'

/** How often a call is sent at most. */
export const attempts = 4

export interface Persistence {
  /** Seconds: no wait is longer, and an instance that asks for a longer one is not waited for. */
  readonly maxWait: number
  /** Resolves after so many seconds. */
  readonly pause: (seconds: number) => Promise<void>
  /** Whether the call may be sent again after one that was perhaps carried out. */
  readonly mayRepeat: () => Promise<boolean>
  /** Told of every attempt that was perhaps carried out. */
  readonly onLost?: ((error: CallError) => void) | undefined
  /** Told before each wait. */
  readonly onWait: (error: CallError, seconds: number, next: number) => void
}

/**
 * Sends a call until it is answered, some times at most, with growing waits. `send` is told whether an earlier attempt
 * was perhaps carried out. Where that may be so of a call that must not be repeated, whatever came later says nothing of
 * the first attempt, and it is the first one's error that is thrown.
 */
export async function persist<T>(
  send: (isRepeated: boolean) => Promise<T>,
  { maxWait, pause, mayRepeat, onLost, onWait }: Persistence,
): Promise<T> {
  let lost: CallError | undefined
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(lost !== undefined)
    } catch (error) {
      if (!isCallError(error)) throw error
      if (error.maybeDone) {
        lost ??= error
        onLost?.(error)
      }
      const final = lost && !lost.call.idempotent ? lost : error
      const seconds = attempt < attempts ? waitAfter(error, attempt, maxWait) : null
      if (seconds === null || (lost && !(await mayRepeat()))) throw final
      onWait(error, seconds, attempt + 1)
      await pause(seconds).catch(() => Promise.reject(final)) // told to stop: what is known is told
    }
  }
}

/** Seconds to wait before the next attempt: full jitter below a bound that doubles; null where none can fare better. */
export function waitAfter(error: CallError, attempt: number, maxWait: number): number | null {
  if (!isTemporary(error)) return null
  const asked = error instanceof NetworkError ? 0 : (error.retryAfter ?? 0)
  if (asked > maxWait) return null
  const [least, most] = [0.5, Math.min(8, 2 ** attempt)]
  return Math.max(asked, Math.min(maxWait, least + Math.random() * (most - least)))
}

function isTemporary(error: CallError): boolean {
  if (error instanceof NetworkError) return !lasting.test(error.code)
  if (error instanceof ApiError && error.code === 'quota_exceeded') return false
  return [408, 429, 500, 502, 503, 504].includes(error.status)
}

/** What another attempt finds as it was: an unknown name, a certificate, a protocol, a proxy that refuses; an end. */
const lasting =
  /^(ENOTFOUND|EPROTO|CLOSED|PROXY_4\d\d|ERR_INVALID_\w+)$|CERT|ISSUER|SIGNATURE|HOSTNAME_MISMATCH|TLS|SSL/
