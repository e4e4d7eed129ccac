import { randomUUID } from 'node:crypto'
import rateLimit from '@fastify/rate-limit'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { Sql } from 'postgres'
import { Admission } from './admission.ts'
import { AccessLog } from './audit/access-log.ts'
import type { KeyRow } from './auth/queries.ts'
import type { TokenSite } from './banner/queries.ts'
import { type BannerLimits, defaultBannerLimits } from './banner/routes.ts'
import { Cache } from './cache.ts'
import type { Config } from './config.ts'
import { newPolicies } from './consents/deps.ts'
import type { Created, Draft, FoundConsent } from './consents/rows.ts'
import { dashboardRoutes, rootRoute } from './dashboard/routes.ts'
import { Batcher } from './db/batching.ts'
import type { Replicas } from './db/replicas.ts'
import type { Log as AccountLog } from './evidence/log.ts'
import type { Signer } from './evidence/signer.ts'
import { healthyState, type NodeState } from './health/monitor.ts'
import { installWithMethodErrors, noRoute, toErrorBody, toFailure, toStatus } from './http/errors.ts'
import { installGate, rejectUrl, unsafeMethods } from './http/gate.ts'
import { getDiagnostics, type Log, logRequest, type Observer, onRequestEnd } from './http/logging.ts'
import { hasLargeRest, installParsers, rejectAmbiguousRequest } from './http/parsing.ts'
import { installSocketHandling, isDraining, rejectSocket } from './http/server.ts'
import type { Geo } from './net/geo.ts'
import { newPublishedNotices } from './notices/published.ts'
import type { Quota } from './quota/quota.ts'
import { installRoutes } from './routes.ts'
import { Sender } from './webhooks/sender.ts'

export interface AppOptions {
  readonly sql: Sql
  /** Default: `sql`. */
  readonly publicSql?: Sql
  readonly replicas?: Replicas | undefined
  readonly config: Pick<
    Config,
    'ipStorage' | 'trustProxy' | 'edgeCountryHeader' | 'edgeRegionHeader' | 'purgeAfterDays' | 'holidays' | 'dashboard'
  >
  readonly geo: Geo
  readonly logger: Log
  readonly observer?: Observer | undefined
  readonly quota: Quota
  /** Default: a new one. */
  readonly accessLog?: AccessLog
  readonly signer: Signer
  /** Default: one that no host is allowed by name. */
  readonly sender?: Sender
  /** Default: always healthy. */
  readonly state?: NodeState
  readonly cursorSecret: Buffer
  readonly consentTokenSecret: Buffer
  readonly sessionSecret: Uint8Array
  readonly subjectSecret: Uint8Array
  readonly originSecret: Uint8Array
  readonly bannerLimits?: BannerLimits
  readonly requestTimeoutMs?: number
  readonly onBackdated?: AccountLog['onBackdated']
}

const defaultRequestTimeoutMs = 30_000

/** Node's default, 30 s, would double the timeout. */
const timeoutCheckIntervalMs = 1000

/** Fits the longest values of all fields, fully escaped. */
const bodyLimitBytes = 128 * 1024

/** Four private requests per connection, and fewer public ones. */
const admissionLimits = {
  private: { running: 40, perTenant: 30, waiting: 100 },
  public: { running: 10, perTenant: 10, waiting: 50 },
  lookups: { running: 5, perTenant: 5, waiting: 200 },
} as const

export function createApp(options: AppOptions): FastifyInstance {
  const { sql, config, requestTimeoutMs = defaultRequestTimeoutMs } = options
  const deps = {
    bannerLimits: defaultBannerLimits,
    publicSql: sql,
    state: healthyState,
    accessLog: new AccessLog(sql, options),
    sender: new Sender(new Set()),
    ...options,
    keys: new Cache<KeyRow>(),
    tokens: new Cache<TokenSite>(),
    policies: newPolicies(),
    notices: newPublishedNotices(),
    reads: new Batcher<string, FoundConsent | undefined>(),
    creates: new Batcher<Draft, Created>(),
    admission: new Admission(admissionLimits.private),
    publicAdmission: new Admission(admissionLimits.public),
    lookups: new Admission(admissionLimits.lookups),
  }
  options.observer?.watchLoad('private', () => deps.admission.load)
  options.observer?.watchLoad('public', () => deps.publicAdmission.load)
  const app = fastify({
    logger: false, // lines contain URLs and error messages
    trustProxy: config.trustProxy.length > 0 && [...config.trustProxy],
    exposeHeadRoutes: false,
    requestIdHeader: false,
    genReqId: () => randomUUID(),
    bodyLimit: bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: {
      maxParamLength: 16_384, // as long as a URL: unknown ids get the same response
      querystringParser: () => ({}), // route() parses the query strictly
    },
    frameworkErrors: (_error, request, reply) => {
      beginRequest(options, request, reply)
      rejectUrl(deps, request).catch(error => sendError(error, request, reply))
    },
    http: {
      requireHostHeader: false, // rejectAmbiguousRequest does, with a body
      headersTimeout: requestTimeoutMs, // Node's default is 60 s
      connectionsCheckingInterval: timeoutCheckIntervalMs,
    },
    clientErrorHandler: rejectSocket,
  })
  app.decorateRequest('diagnostics', null)
  app.addHook('onRequest', async (request, reply) => {
    beginRequest(options, request, reply)
    if (isDraining(app.server)) reply.header('connection', 'close')
    rejectAmbiguousRequest(request.raw)
  })
  installSocketHandling(app.server)
  installGate(app, deps)
  installParsers(app)
  app.setErrorHandler(sendError)
  app.setNotFoundHandler(() => {
    throw noRoute()
  })
  app.register(async scope => {
    await scope.register(rateLimit, { global: false })
    rootRoute(scope, { hasPage: config.dashboard })
    if (config.dashboard) dashboardRoutes(scope, { reject: request => rejectUrl(deps, request) })
    installWithMethodErrors(scope, routes => installRoutes(routes, deps))
  })
  return app
}

function commonHeaders({ id }: FastifyRequest): Record<string, string> {
  return { 'x-request-id': id, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
}

function beginRequest({ logger, observer }: AppOptions, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(commonHeaders(request))
  onRequestEnd(request, reply, summary => {
    logRequest(logger, summary)
    observer?.onRequestEnd(summary)
  })
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const failure = toFailure(error)
  getDiagnostics(request).failure = failure
  const status = toStatus(failure)
  if (hasLargeRest(request.raw)) reply.header('connection', 'close')
  if (status >= 500 && unsafeMethods.has(request.method) && !request.isHandled)
    reply.header('request-not-applied', 'true')
  return reply.code(status).headers(failure.headers).send(toErrorBody(failure))
}
