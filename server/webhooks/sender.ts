import type { LookupFunction } from 'node:net'
import type { Agent } from 'undici'
import type { WebhookAttempt } from '../../src/contract/index.ts'
import { signedHeaders } from '../../src/evidence/webhook-signature.ts'
import { Failure } from '../failure.ts'
import { splitCredentials } from '../net/credentials.ts'
import { type Allowed, guardedLookup, type LookupAll, readTarget } from './address.ts'
import type { WebhookRow } from './queries.ts'

/** Of an attempt, with the look-up of its host. */
export const maxAttemptMs = 10_000

const maxAnswerBytes = 4096

type Endpoint = Pick<WebhookRow, 'target' | 'signature' | 'secret' | 'previous_secret' | 'previous_secret_until'>

export interface Sendable {
  readonly id: string
  readonly body: string
  /** Of the event; null for a test. */
  readonly position: number | null
}

interface SenderOptions {
  /** Default: 10 s. */
  readonly timeoutMs?: number
  /** Default: that of the machine. */
  readonly resolve?: LookupAll
}

/** Sends messages over connections that it keeps. It follows no redirect, and no proxy of the environment. */
export class Sender {
  readonly allowed: Allowed
  readonly #timeoutMs: number
  readonly #lookup: LookupFunction
  #agent: Promise<Agent> | null = null

  constructor(allowed: Allowed, { timeoutMs = maxAttemptMs, resolve }: SenderOptions = {}) {
    this.allowed = allowed
    this.#timeoutMs = timeoutMs
    this.#lookup = guardedLookup(allowed, resolve)
  }

  /** Never rejects. `signal` aborts it. */
  async send(endpoint: Endpoint, { id, body, position }: Sendable, signal?: AbortSignal): Promise<WebhookAttempt> {
    const at = new Date()
    const start = performance.now()
    const headers = signedHeaders(keysOf(endpoint, at), { id, at, body })
    // Not AbortSignal.any: some Node versions keep its signals as long as `signal`.
    const controller = new AbortController()
    const abort = () => controller.abort()
    signal?.addEventListener('abort', abort)
    const timer = setTimeout(abort, this.#timeoutMs)
    const { status, problem } = await this.#post(endpoint.target, { headers, body, signal: controller.signal }).then(
      answered => ({ status: answered, problem: answered >= 200 && answered < 300 ? null : `answered ${answered}` }),
      (error: unknown) => ({
        status: null,
        problem: controller.signal.aborted ? `no answer within ${this.#timeoutMs / 1000} s` : explain(error),
      }),
    )
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
    return { at: at.toISOString(), position, status, ms: Math.round(performance.now() - start), problem }
  }

  async #post(
    target: string,
    { signal, ...message }: { headers: Record<string, string>; body: string; signal: AbortSignal },
  ): Promise<number> {
    readTarget(target, this.allowed) // WEBHOOK_ALLOW may be another one than at its creation
    const { target: url, authorization } = splitCredentials(target)
    this.#agent ??= openAgent(this.#lookup)
    const { request } = await import('undici')
    const answer = await request(url, {
      ...message,
      method: 'POST',
      headers: { ...message.headers, 'user-agent': 'consentctl', ...(authorization && { authorization }) },
      dispatcher: await this.#agent,
      signal,
    })
    await answer.body.dump({ limit: maxAnswerBytes, signal }).catch(() => {}) // the status is the answer
    return answer.statusCode
  }

  async close(): Promise<void> {
    await (await this.#agent)?.destroy()
  }
}

/** undici takes long to load, and most services have no webhook. */
async function openAgent(lookup: LookupFunction): Promise<Agent> {
  const { Agent } = await import('undici')
  return new Agent({
    connect: { lookup, timeout: maxAttemptMs },
    pipelining: 1, // a turn limits what is in flight
    headersTimeout: maxAttemptMs,
    bodyTimeout: maxAttemptMs,
  })
}

function keysOf({ signature, secret, previous_secret, previous_secret_until }: Endpoint, at: Date) {
  const isOverlap = previous_secret !== null && previous_secret_until !== null && previous_secret_until > at
  return [secret, ...(isOverlap ? [previous_secret] : [])].map(each => ({ signature, secret: each }))
}

/** Messages may quote the URL. */
function explain(error: unknown): string {
  if (error instanceof Failure) return error.message.replace(/^url: /, '')
  const { code, name } = error as NodeJS.ErrnoException
  return `no answer (${code ?? name})`
}
