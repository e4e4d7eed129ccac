/** The call that failed, as far as an error needs it. */
export interface Call {
  readonly method: string
  /** The path as the contract has it, with `:name` for each parameter. */
  readonly path: string
  readonly url: string
  /** Whether the same call twice does no more than once (RFC 9110 section 9.2.2). */
  readonly idempotent: boolean
  /** The id in its path, where it is about one thing. */
  readonly id: string | null
  /** Where the key came from that was sent with it; null where somebody signs in instead. */
  readonly keySource: string | null
  /** The proxy it goes through and who named it, as it may be shown. */
  readonly proxy: { readonly shown: string; readonly source: string } | null
}

/** An answer, as far as an error needs it. */
export interface Reply {
  readonly status: number
  readonly requestId: string | null
  /** After how many seconds to try again, where the instance says so (RFC 9110 section 10.2.3). */
  readonly retryAfter: number | null
  /** Where a redirect leads to. */
  readonly location: string | null
}

/** The instance answered with an error of the service's own shape. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly call: Call
  readonly code: string
  readonly status: number
  readonly requestId: string | null
  readonly retryAfter: number | null
  /** Whether the call may have been carried out: the instance failed somewhere on the way. */
  readonly maybeDone: boolean

  constructor(call: Call, reply: Reply, body: { error: string; message: string }) {
    super(body.message)
    this.call = call
    this.code = body.error
    this.status = reply.status
    this.requestId = reply.requestId
    this.retryAfter = reply.retryAfter
    this.maybeDone = reply.status >= 500
  }
}

/** No answer came: the instance cannot be reached, the connection broke, or it took too long. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'
  readonly call: Call
  readonly code: string
  /** Whether the instance may have received the request, and carried it out. */
  readonly maybeDone: boolean

  constructor(call: Call, cause: unknown, isSent: boolean) {
    const { code, message } = innermost(cause)
    super(message || code, { cause })
    this.call = call
    this.code = code
    this.maybeDone = isSent
  }
}

/** An answer came that is none of this service: an HTML page, another JSON, a redirect. */
export class ContractError extends Error {
  override readonly name = 'ContractError'
  readonly call: Call
  readonly status: number
  readonly requestId: string | null
  readonly retryAfter: number | null
  readonly location: string | null
  /** The beginning of the body, as it came. */
  readonly excerpt: string
  /** Whether the call may have been carried out: it was, or something failed on the way. */
  readonly maybeDone: boolean

  constructor(call: Call, reply: Reply, excerpt: string, problem: string) {
    super(problem)
    this.call = call
    this.status = reply.status
    this.requestId = reply.requestId
    this.retryAfter = reply.retryAfter
    this.location = reply.location
    this.excerpt = excerpt.slice(0, 200)
    this.maybeDone = reply.status < 300 || reply.status >= 500 || reply.status === 303
  }
}

/** A list whose pages would never end. */
export class EndlessListError extends Error {
  override readonly name = 'EndlessListError'

  constructor() {
    super('the list leads back to where it was: it would never end')
  }
}

/** Any of the first three. */
export type CallError = ApiError | NetworkError | ContractError

export function isCallError(error: unknown): error is CallError {
  return error instanceof ApiError || error instanceof NetworkError || error instanceof ContractError
}

/** Node wraps what went wrong with each address of a host in an AggregateError without a message. */
function innermost(cause: unknown): { code: string; message: string } {
  const { code, message, errors } = (cause ?? {}) as { code?: unknown; message?: unknown; errors?: unknown[] }
  if (Array.isArray(errors) && errors.length > 0 && !message) return innermost(errors[0])
  return { code: String(code ?? 'UNKNOWN'), message: String(message ?? '') }
}
