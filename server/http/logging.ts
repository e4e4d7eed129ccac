import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { ErrorCode } from '../../src/contract/index.ts'
import type { Load } from '../admission.ts'
import type { Caller } from '../auth/caller.ts'
import { dbErrorCode } from '../db/errors.ts'
import type { Failure } from '../failure.ts'

/** Contains no client text and no messages of library errors, which quote rows and fields. */
export interface RequestSummary {
  readonly requestId: string
  readonly method: string
  readonly route: string | null
  /** 499 if the client disconnected before the response. */
  readonly status: number
  readonly milliseconds: number
  readonly accountId: string | null
  readonly callerKind: Caller['kind'] | null
  readonly apiKeyId: string | null
  readonly error: ErrorCode | null
  readonly serverError: ReturnType<typeof toServerError>
  readonly retries: readonly string[]
  readonly problems: readonly string[]
}

export interface Observer {
  onRequestEnd(summary: RequestSummary): void
  watchLoad(flow: 'private' | 'public', read: () => Load): void
}

interface Diagnostics {
  failure: Failure | null
  readonly retries: string[]
  /** Failures that the response does not report. */
  readonly problems: string[]
}

declare module 'fastify' {
  interface FastifyRequest {
    diagnostics: Diagnostics | null
  }
}

export function getDiagnostics(request: FastifyRequest): Diagnostics {
  request.diagnostics ??= { failure: null, retries: [], problems: [] }
  return request.diagnostics
}

export function onRequestEnd(
  request: FastifyRequest,
  { raw }: FastifyReply,
  callback: (summary: RequestSummary) => void,
): void {
  const start = performance.now()
  raw.once('close', () => {
    const { failure, retries, problems } = getDiagnostics(request)
    callback({
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url ?? null,
      status: raw.writableFinished ? raw.statusCode : 499,
      milliseconds: performance.now() - start,
      accountId: request.caller?.accountId ?? null,
      callerKind: request.caller?.kind ?? null,
      apiKeyId: request.caller?.kind === 'api_key' ? request.caller.id : null,
      error: failure?.code ?? null,
      serverError: failure && toServerError(failure),
      retries,
      problems,
    })
  })
}

const serverErrorCodes = new Set<ErrorCode>(['internal_error', 'unavailable', 'read_only'])

/** Returns null for client errors, and for shed and read-only requests. */
function toServerError({ code, message, cause }: Failure) {
  const isShed = code !== 'internal_error' && cause === undefined
  if (isShed || !serverErrorCodes.has(code)) return null
  return {
    message,
    cause: cause instanceof Error ? cause.name : null,
    code: dbErrorCode(cause),
    stack: readFrames(cause),
  }
}

const maxFrames = 5

function readFrames(error: unknown): string[] {
  if (!(error instanceof Error) || !error.stack) return []
  const start = error.stack.indexOf(error.message)
  if (start === -1) return []
  const lines = error.stack.slice(start + error.message.length).split('\n')
  return lines
    .map(line => line.trim())
    .filter(line => /^at \S/.test(line))
    .slice(0, maxFrames)
}

export type Log = Pick<Logger, 'info' | 'error'>

export function logRequest(logger: Log, summary: RequestSummary): void {
  const { method, route, status, accountId, callerKind, apiKeyId, error, serverError, retries, problems } = summary
  logger[serverError || problems.length > 0 ? 'error' : 'info'](
    {
      request_id: summary.requestId,
      method,
      route,
      status,
      ms: Math.round(summary.milliseconds),
      ...(accountId && { account_id: accountId, caller: callerKind }),
      ...(apiKeyId && { api_key_id: apiKeyId }),
      ...(error && { error }),
      ...(serverError && { cause: serverError.cause, code: serverError.code, stack: serverError.stack }),
      ...(retries.length > 0 && { retries }),
      ...(problems.length > 0 && { problems }),
    },
    serverError?.message ?? 'request',
  )
}
