import { ZodError } from 'zod'
import { type ErrorBody, errorStatus } from '../../src/contract/index.ts'
import { Failure, unavailable } from '../failure.ts'

/** Fastify's own refusals, by the HTTP status it gives them. */
const refusals: Record<number, () => Failure> = {
  404: () => noRoute(),
  413: () => new Failure('payload_too_large', 'The body is too large.'),
  414: () => new Failure('invalid_request', 'The URL is too long.', { status: 414 }),
  415: () => wrongMediaType(),
}

/** Anything thrown while a request is answered, as the failure that its client is told. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof ZodError) return new Failure('invalid_request', explain(error), { cause: error })
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return (
      refusals[statusCode]?.() ??
      new Failure('invalid_request', 'The request is malformed.', { cause: error })
    )
  }
  return (typeof code === 'string' && ofDatabase(code, error)) || internal(error)
}

export function bodyOf(failure: Failure): ErrorBody {
  return { error: failure.code, message: failure.message }
}

export function statusOf(failure: Failure): number {
  return failure.status ?? errorStatus[failure.code]
}

export function noRoute(): Failure {
  return new Failure('not_found', 'There is no such route.')
}

export function wrongMethod(allow: string): Failure {
  return new Failure('invalid_request', `The method is not one of ${allow}.`, {
    status: 405,
    headers: { allow },
  })
}

export function wrongMediaType(): Failure {
  return new Failure('invalid_request', 'The body must be application/json.', { status: 415 })
}

function internal(cause: unknown): Failure {
  return new Failure(
    'internal_error',
    'The service failed to answer; the request id helps to find out why.',
    { cause },
  )
}

/** A SQLSTATE (PostgreSQL's appendix A), or a connection's error code, as a failure. */
function ofDatabase(code: string, cause: unknown): Failure | null {
  if (/^(08|40|53|55|57|58|25006)/.test(code) || /^(E[A-Z]+|CONNECT(ION)?_\w+)$/.test(code)) {
    return unavailable('The database does not answer at the moment.', cause)
  }
  if (code === '23503')
    return new Failure('not_found', 'What the request refers to does not exist.', { cause })
  if (code === '23505') return new Failure('conflict', 'The record exists already.', { cause })
  if (/^(22|54)/.test(code)) return new Failure('invalid_request', 'A value cannot be stored.', { cause })
  return null
}

/** Each problem as `field: what it must be`; for people, the codes are for programs. */
function explain(error: ZodError): string {
  const problems = error.issues.map(issue => {
    if (issue.code === 'unrecognized_keys') {
      return `unknown ${issue.keys.length > 1 ? 'fields' : 'field'}: ${issue.keys.slice(0, 5).join(', ').slice(0, 200)}`
    }
    return issue.path.length ? `${issue.path.join('.')}: ${issue.message}` : issue.message
  })
  return problems.slice(0, 5).join('; ')
}
