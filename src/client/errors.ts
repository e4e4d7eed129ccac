import type { Scope } from '../contract/endpoint.ts'
import type { ErrorBody } from '../contract/errors.ts'

export interface Call {
  readonly method: string
  /** Has `:name` for each parameter. */
  readonly path: string
  readonly url: string
  /** RFC 9110 section 9.2.2. */
  readonly idempotent: boolean
  /** True if it changes nothing, even with POST. */
  readonly isRead?: boolean
  readonly id: string | null
  /** A key needs at least one. */
  readonly scopes?: readonly Scope[]
  /** Source of the API key; null if a user signs in. */
  readonly keySource: string | null
  /** `shown` omits the credentials; `source` is the variable that names the proxy. */
  readonly proxy: { readonly shown: string; readonly source: string } | null
}

export interface ResponseHead {
  readonly status: number
  readonly requestId: string | null
  /** Seconds (RFC 9110 section 10.2.3). */
  readonly retryAfter: number | null
  readonly location: string | null
  /** The instance says so. */
  readonly isNotApplied?: boolean
}

class ResponseError extends Error {
  readonly call: Call
  readonly status: number
  readonly requestId: string | null
  readonly retryAfter: number | null

  constructor(call: Call, head: ResponseHead, message: string) {
    super(message)
    this.call = call
    this.status = head.status
    this.requestId = head.requestId
    this.retryAfter = head.retryAfter
  }
}

export class ApiError extends ResponseError {
  override readonly name = 'ApiError'
  readonly code: string
  /** May be a code that this version does not know. */
  readonly reason: string | undefined
  readonly maybeDone: boolean

  constructor(call: Call, head: ResponseHead, { error, message, reason }: ErrorBody) {
    super(call, head, message)
    this.code = error
    this.reason = reason
    this.maybeDone = head.status >= 500 && head.isNotApplied !== true
  }
}

export class NetworkError extends Error {
  override readonly name = 'NetworkError'
  readonly call: Call
  readonly code: string
  readonly maybeDone: boolean
  /** True until the address, the authorities or the proxy is corrected. */
  readonly isPermanent: boolean

  constructor(call: Call, cause: unknown, isSent: boolean) {
    const { code, message } = innermost(cause)
    super(message || code, { cause })
    this.call = call
    this.code = code
    this.maybeDone = isSent
    this.isPermanent = permanent.test(code)
  }
}

const permanent = /^(ENOTFOUND|EPROTO|PROXY_4\d\d|ERR_INVALID_\w+)$|CERT|ISSUER|SIGNATURE|HOSTNAME_MISMATCH|TLS|SSL/

/** True if no request reached the instance. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof NetworkError && !error.maybeDone
}

/** Not this service's response: an HTML page, other JSON, a redirect. */
export class ContractError extends ResponseError {
  override readonly name = 'ContractError'
  readonly location: string | null
  readonly excerpt: string
  readonly maybeDone: boolean

  constructor(call: Call, head: ResponseHead, excerpt: string, problem: string) {
    super(call, head, problem)
    this.location = head.location
    this.excerpt = excerpt.slice(0, 200)
    this.maybeDone = head.status < 300 || head.status >= 500 || head.status === 303
  }
}

export class EndlessListError extends Error {
  override readonly name = 'EndlessListError'

  constructor() {
    super('the list repeats a cursor and would never end')
  }
}

export type CallError = ApiError | NetworkError | ContractError

export function isCallError(error: unknown): error is CallError {
  return error instanceof ApiError || error instanceof NetworkError || error instanceof ContractError
}

/** Node wraps the errors of several addresses in an AggregateError without a message. */
function innermost(cause: unknown): { code: string; message: string } {
  const { code, message, errors } = (cause ?? {}) as { code?: unknown; message?: unknown; errors?: unknown[] }
  if (Array.isArray(errors) && errors.length > 0 && !message) return innermost(errors[0])
  return { code: String(code ?? 'UNKNOWN'), message: String(message ?? '') }
}
