import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Logger, pino } from 'pino'
import type { Failure } from '../failure.ts'

/** JSON lines on stderr. */
export function createLogger(level: string): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  )
}

/** One line a request, by an allow-list: never a body, a query string, a credential, a subject or an address. */
export function installLogging(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        account_id: request.admission?.caller.accountId,
        caller: request.admission?.caller.kind,
      },
      'request',
    )
  })
}

/** Tells the operator of what is our side's fault; a driver's error only by its name and code, for it quotes rows. */
export function logFailure(request: FastifyRequest, failure: Failure): void {
  if (failure.code !== 'internal_error' && failure.code !== 'unavailable') return
  const cause = (failure.cause ?? {}) as { name?: unknown; code?: unknown; stack?: unknown }
  const stack =
    typeof cause.stack === 'string' && !('detail' in cause) ? cause.stack.split('\n').slice(1, 6) : undefined
  request.log.error(
    {
      failure: failure.code,
      cause: String(cause.name ?? ''),
      code: cause.code,
      stack,
    },
    failure.message,
  )
}
