import { randomUUID } from 'node:crypto'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import type { Sql } from 'postgres'
import type { Config } from './config.ts'
import { consentRoutes } from './consents/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { bodyOf, noRoute, statusOf, toFailure } from './http/failures.ts'
import { installGate, refuseUrl } from './http/gate.ts'
import { installLogging, logFailure } from './http/logging.ts'
import { installMethodRefusals } from './http/methods.ts'
import { installParsers } from './http/parsers.ts'
import { installWire, refuseSocket, requireOneHost } from './http/wire.ts'

export interface AppOptions {
  readonly sql: Sql
  readonly config: Pick<Config, 'ipStorage'>
  readonly logger: FastifyBaseLogger
  /** What cursors are signed with; the same on every node. */
  readonly cursorSecret: Buffer
}

/** Milliseconds until a whole request must have arrived. */
const requestTimeout = 30_000

/** Bytes of a body at most: every field at its longest, with each character as an escape, and room to spare. */
const bodyLimit = 128 * 1024

/** The service as a Fastify application that listens nowhere yet. */
export function createApp({ sql, config, logger, cursorSecret }: AppOptions): FastifyInstance {
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    exposeHeadRoutes: false,
    requestIdHeader: false,
    genReqId: () => randomUUID(),
    bodyLimit,
    requestTimeout,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: {
      maxParamLength: 16_384, // as long as a URL can be: every id that is no record's is answered alike
      querystringParser: () => ({}), // the contract's schemas read the query, strictly (http/query.ts)
    },
    frameworkErrors: (_error, request, reply) => {
      reply.header('x-request-id', request.id)
      refuseUrl(request, sql).catch(error => answerFailure(error, request, reply))
    },
    http: { requireHostHeader: false }, // Node would answer without a body; requireOneHost does it instead
    clientErrorHandler: refuseSocket,
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    requireOneHost(request.raw)
  })
  installWire(app.server)
  installLogging(app)
  installGate(app, sql)
  installParsers(app)
  app.setErrorHandler(answerFailure)
  app.setNotFoundHandler(() => {
    throw noRoute()
  })
  installMethodRefusals(app, routes => {
    healthRoutes(routes, sql)
    consentRoutes(routes, { sql, config, cursorSecret })
  })
  return app
}

function answerFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const failure = toFailure(error)
  logFailure(request, failure)
  return reply.code(statusOf(failure)).headers(failure.headers).send(bodyOf(failure))
}
