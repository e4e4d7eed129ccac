import type { FastifyInstance, HTTPMethods } from 'fastify'
import { ZodError } from 'zod'
import { type Access, type ErrorBody, errorStatus } from '../../src/contract/index.ts'
import { type DbErrorKind, dbErrorCode, dbErrorKind } from '../db/errors.ts'
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
  const { statusCode } = (error ?? {}) as { statusCode?: unknown }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return (
      refusals[statusCode]?.() ??
      new Failure('invalid_request', 'The request is malformed.', { cause: error })
    )
  }
  const trouble = dbErrorKind(error)
  return trouble ? troubles[trouble](error) : internal(error)
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

/** What the client is told of trouble with the database. */
const troubles: Record<DbErrorKind, (cause: unknown) => Failure> = {
  lost: noDatabase,
  aborted: noDatabase,
  rejected: cause => (dbErrorCode(cause) === '0A000' ? internal(cause) : noDatabase(cause)),
  unavailable: noDatabase,
  unstorable: cause => new Failure('invalid_request', 'A value cannot be stored.', { cause }),
  conflict: cause =>
    new Failure('conflict', 'Another request has made the same, or changed it, at the same time.', { cause }),
  missing: cause => new Failure('not_found', 'What the request refers to does not exist.', { cause }),
}

function noDatabase(cause: unknown): Failure {
  return unavailable('The database does not answer at the moment.', cause)
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

const all: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/**
 * Routes for the methods that a known path does not have, which the gate answers with 405 and Allow (RFC 9110 section
 * 15.5.6) once it knows the caller.
 */
export function installMethodRefusals(app: FastifyInstance, routes: (app: FastifyInstance) => void): void {
  const known = new Map<string, { methods: Set<string>; access: Access | undefined }>()
  app.addHook('onRoute', ({ url, method, config }) => {
    const entry = known.get(url) ?? { methods: new Set<string>(), access: config?.access }
    for (const one of [method].flat()) entry.methods.add(one)
    known.set(url, entry)
  })
  routes(app)
  for (const [url, { methods, access }] of [...known]) {
    const config = { ...(access && { access }), allow: [...methods].join(', ') }
    app.route({ url, method: all.filter(method => !methods.has(method)), config, handler: async () => {} })
  }
}
