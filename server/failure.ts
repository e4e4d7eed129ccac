import type { ErrorCode, ErrorReason } from '../src/contract/index.ts'

export class Failure<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'Failure'
  readonly code: Code
  readonly reason: ErrorReason<Code> | undefined
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: Code,
    message: string,
    options: { reason?: ErrorReason<Code>; status?: number; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.reason = options.reason
    this.status = options.status
    this.headers = options.headers ?? {}
  }
}

export function noSiteInUse(): Failure {
  return new Failure('not_found', 'There is no such site, or it is archived.')
}

export const unknownSite = 'There is no such site.'

export function noSite(): Failure {
  return new Failure('not_found', unknownSite)
}

/** Clients retry after a second. */
export function unavailable(message: string, cause?: unknown): Failure {
  return new Failure('unavailable', message, { headers: { 'retry-after': '1' }, cause })
}

/** Clients retry after a second, possibly on another node. */
export function readOnly(message: string, cause?: unknown): Failure {
  return new Failure('read_only', message, { headers: { 'retry-after': '1' }, cause })
}
