import type { FastifyInstance, HTTPMethods } from 'fastify'
import { ZodError } from 'zod'
import { type Access, type ErrorBody, errorStatus } from '../../src/contract/index.ts'
import { type DbErrorKind, dbErrorCode, dbErrorKind } from '../db/errors.ts'
import { Failure, readOnly, unavailable } from '../failure.ts'

export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof ZodError) return new Failure('invalid_request', describeIssues(error), { cause: error })
  const { statusCode } = (error ?? {}) as { statusCode?: unknown }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return (
      fastifyErrors[statusCode]?.() ?? new Failure('invalid_request', 'The request is malformed.', { cause: error })
    )
  }
  const kind = dbErrorKind(error)
  return kind ? databaseErrors[kind](error) : internalError(error)
}

export function toErrorBody(failure: Failure): ErrorBody {
  const { code, message, reason } = failure
  return { error: code, message, ...(reason && { reason }) }
}

export function toStatus(failure: Failure): number {
  return failure.status ?? errorStatus[failure.code]
}

export function noRoute(): Failure {
  return new Failure('not_found', 'There is no such route.')
}

export function methodNotAllowed(allow: string): Failure {
  return new Failure('invalid_request', `The method must be one of ${allow}.`, {
    status: 405,
    headers: { allow },
  })
}

export function wrongMediaType(types: readonly string[] = []): Failure {
  const wanted = types.length > 0 ? `one of ${types.join(', ')}` : 'application/json'
  return new Failure('invalid_request', `The body must be ${wanted}.`, { status: 415 })
}

const fastifyErrors: Record<number, () => Failure> = {
  404: noRoute,
  413: () => new Failure('payload_too_large', 'The body is too large.'),
  414: () => new Failure('invalid_request', 'The URL is too long.', { status: 414 }),
  415: () => wrongMediaType(),
}

const databaseErrors: Record<DbErrorKind, (cause: unknown) => Failure> = {
  lost: databaseUnavailable,
  aborted: databaseUnavailable,
  rejected: cause => {
    const code = dbErrorCode(cause)
    if (code === '25006') return readOnly('The database is read-only at the moment.', cause)
    return code === '0A000' ? internalError(cause) : databaseUnavailable(cause)
  },
  unavailable: databaseUnavailable,
  conflict: cause =>
    new Failure('conflict', 'A concurrent request created or changed the same resource.', {
      reason: 'concurrent_change',
      cause,
    }),
  missing: cause => new Failure('not_found', 'A resource that the request refers to does not exist.', { cause }),
}

function databaseUnavailable(cause: unknown): Failure {
  return unavailable('The database is not responding at the moment.', cause)
}

function internalError(cause: unknown): Failure {
  const message = 'The service failed; look up the request id in its log to find out why.'
  return new Failure('internal_error', message, { cause })
}

function describeIssues(error: ZodError): string {
  const problems = error.issues.map(issue => {
    if (issue.code === 'unrecognized_keys') {
      return `unknown ${issue.keys.length > 1 ? 'fields' : 'field'}: ${issue.keys.slice(0, 5).join(', ').slice(0, 200)}`
    }
    return issue.path.length ? `${issue.path.join('.')}: ${issue.message}` : issue.message
  })
  return problems.slice(0, 5).join('; ')
}

const allMethods: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Adds each path's other methods, which the gate answers with 405 and Allow (RFC 9110 section 15.5.6). */
export function installWithMethodErrors(app: FastifyInstance, install: (app: FastifyInstance) => void): void {
  const paths = new Map<string, { methods: Set<string>; access: Access | undefined }>()
  app.addHook('onRoute', ({ url, method, config }) => {
    const path = paths.get(url) ?? { methods: new Set<string>(), access: config?.access }
    for (const one of [method].flat()) path.methods.add(one)
    paths.set(url, path)
  })
  install(app)
  for (const [url, { methods, access }] of [...paths]) {
    const config = { ...(access && { access }), allow: [...methods].join(', ') }
    const method = allMethods.filter(one => !methods.has(one))
    app.route({ url, method, config, handler: async () => {} })
  }
}
