import { randomUUID } from 'node:crypto'
import rateLimit from '@fastify/rate-limit'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { Sql } from 'postgres'
import { Admission } from './admission.ts'
import type { KeyRow } from './auth/queries.ts'
import { TtlCache } from './auth/ttl-cache.ts'
import type { TokenSite } from './banner/queries.ts'
import { type BannerLimits, usualLimits } from './banner/routes.ts'
import type { Config } from './config.ts'
import { Policies } from './consents/policies.ts'
import type { ConsentJson, Created, Draft } from './consents/rows.ts'
import { Batcher } from './db/batching.ts'
import type { Replicas } from './db/replicas.ts'
import type { Signer } from './evidence/signer.ts'
import { bodyOf, installMethodRefusals, noRoute, statusOf, toFailure } from './http/errors.ts'
import { installGate, refuseUrl } from './http/gate.ts'
import { type Log, logOutcome, notesOf, type Observer, onOutcome } from './http/logging.ts'
import { installParsers, requirePlainRequest } from './http/parsing.ts'
import { installWire, isDraining, refuseSocket } from './http/server.ts'
import type { Geo } from './net/geo.ts'
import type { Quota } from './quota/quota.ts'
import { installRoutes } from './routes.ts'

export interface AppOptions {
  readonly sql: Sql
  /** For the public flow, if not the same. */
  readonly publicSql?: Sql
  /** For lists, where there are any. */
  readonly replicas?: Replicas | undefined
  readonly config: Pick<
    Config,
    'ipStorage' | 'trustProxy' | 'edgeCountryHeader' | 'edgeRegionHeader' | 'purgeAfterDays'
  >
  readonly geo: Geo
  readonly logger: Log
  /** Counts what happens, where anybody wants to know. */
  readonly observer?: Observer | undefined
  /** What this node spends of quotas; settled by whoever made it, once the application is closed. */
  readonly quota: Quota
  /** What documents, cursors and sessions are signed with, and subjects in documents hidden; the same on every node. */
  readonly signer: Signer
  readonly cursorSecret: Buffer
  readonly sessionSecret: Uint8Array
  readonly subjectSecret: Uint8Array
  readonly bannerLimits?: BannerLimits
}

/** Milliseconds until a whole request must have arrived. */
const requestTimeout = 30_000

/** Bytes of a body at most: every field at its longest, with each character as an escape, and room to spare. */
const bodyLimit = 128 * 1024

/** Requests at once: of the private API four for each connection of the pool, and fewer of the public flow. */
const inFlight = {
  private: { running: 40, perTenant: 30, waiting: 100 },
  public: { running: 10, perTenant: 10, waiting: 50 },
  lookUps: { running: 5, perTenant: 5, waiting: 200 },
} as const

/** The service as a Fastify application that listens nowhere yet. */
export function createApp(options: AppOptions): FastifyInstance {
  const { sql, config } = options
  const deps = {
    bannerLimits: usualLimits,
    publicSql: sql,
    ...options,
    keys: new TtlCache<KeyRow>(),
    tokens: new TtlCache<TokenSite>(),
    policies: new Policies(),
    reads: new Batcher<string, ConsentJson | undefined>(),
    creates: new Batcher<Draft, Created>(),
    admission: new Admission(inFlight.private),
    publicAdmission: new Admission(inFlight.public),
    lookUps: new Admission(inFlight.lookUps),
  }
  options.observer?.watch('private', () => deps.admission.load)
  options.observer?.watch('public', () => deps.publicAdmission.load)
  const app = fastify({
    logger: false, // its own lines name URLs and quote errors; http/logging.ts says what is logged
    trustProxy: config.trustProxy.length > 0 && [...config.trustProxy],
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
      begin(options, request, reply)
      refuseUrl(deps, request).catch(error => answerFailure(error, request, reply))
    },
    http: { requireHostHeader: false }, // Node would answer without a body; requirePlainRequest does it instead
    clientErrorHandler: refuseSocket,
  })
  app.decorateRequest('notes', null)
  app.addHook('onRequest', async (request, reply) => {
    begin(options, request, reply)
    if (isDraining(app.server)) reply.header('connection', 'close')
    requirePlainRequest(request.raw)
  })
  installWire(app.server)
  installGate(app, deps)
  installParsers(app)
  app.setErrorHandler(answerFailure)
  app.setNotFoundHandler(() => {
    throw noRoute()
  })
  app.register(async scope => {
    await scope.register(rateLimit, { global: false })
    installMethodRefusals(scope, routes => installRoutes(routes, deps))
  })
  return app
}

/** Headers of every answer: none is for a cache to keep, or for a browser to take for something else. */
function usualHeaders({ id }: FastifyRequest): Record<string, string> {
  return { 'x-request-id': id, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
}

/** What is done for every request, whatever becomes of it. */
function begin({ logger, observer }: AppOptions, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(usualHeaders(request))
  onOutcome(request, reply, outcome => {
    logOutcome(logger, outcome)
    observer?.answered(outcome)
  })
}

function answerFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const failure = toFailure(error)
  notesOf(request).failure = failure
  return reply.code(statusOf(failure)).headers(failure.headers).send(bodyOf(failure))
}
