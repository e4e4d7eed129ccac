import type { Received } from './attempt.ts'
import type { Call, CallError } from './errors.ts'

/** Where requests go, who sends them, and how patiently. */
export interface Connection {
  /** The instance's base address, without a slash at the end. */
  readonly baseUrl: string
  /**
   * The key that goes with each request, and where it came from, for whoever has to mend it. Without one somebody signs
   * in first: the cookies that the instance then sets are held in memory, and go with each request after it.
   */
  readonly key: { readonly value: string; readonly source: string } | null
  readonly userAgent: string
  /** The proxy to go through, its address as it may be shown, and what names it; null for none. */
  readonly proxy: { readonly url: string; readonly shown: string; readonly source: string } | null
  /** Every certificate authority to trust, in PEM; null for the usual ones. */
  readonly ca: readonly string[] | null
  /** Milliseconds that a request may take; null for what is usual. */
  readonly timeout: number | null
  /** Seconds that are waited at most before a request is sent again. */
  readonly maxWait: number
  /** Resolves after so many seconds; rejects when the signal comes. */
  readonly pause: (seconds: number, signal: AbortSignal) => Promise<void>
  /** Aborted when the user wants to stop: what is being changed is finished, nothing is begun, and nothing waited for. */
  readonly interruption: AbortSignal
  /** Who is told what is sent and answered; null for nobody. */
  readonly trace: Trace | null
}

/** Whoever wants to see the requests. What it tells must hide secrets and personal data: it is given all of them. */
export interface Trace {
  /** Sends a request once, and tells of it and of what comes of it. */
  follow(
    call: Call,
    request: { readonly headers: Readonly<Record<string, string>>; readonly body: string | undefined },
    send: () => Promise<Received>,
  ): Promise<Received>
  /** Tells why a call is sent again, after so many seconds, for the `next` time. */
  waits(error: CallError, seconds: number, next: number): void
}
