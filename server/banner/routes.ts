import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type BannerDraft, banner } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import type { Config } from '../config.ts'
import { wrongMediaType } from '../http/errors.ts'
import { parseJson } from '../http/parsing.ts'
import { type Limit, limitRequests } from '../http/rate-limits.ts'
import { type RouteOptions, route, withinDeadline } from '../http/route.ts'
import { networkKey, readHeader } from '../net/request.ts'
import { klaroDraft, parseKlaroId } from './klaro.ts'
import { type Connection, recordVisit, type VisitDeps } from './service.ts'
import {
  type ConnectionConfig,
  findTokenHolder,
  preflightHeaders,
  readConnection,
  type VisitorDeps,
} from './visitor.ts'

const bodyLimitBytes = 16 * 1024

export interface BannerLimits {
  /** Counted by IPv4 address or /64 of IPv6. */
  readonly address: Limit
  readonly site: Limit
}

export const defaultBannerLimits = toBannerLimits({ publicRatePerAddress: 60, publicRatePerSite: 6000 })

export function toBannerLimits({
  publicRatePerAddress,
  publicRatePerSite,
}: Pick<Config, 'publicRatePerAddress' | 'publicRatePerSite'>): BannerLimits {
  return {
    address: { max: publicRatePerAddress, seconds: 60 },
    site: { max: publicRatePerSite, seconds: 60 },
  }
}

export interface BannerDeps extends VisitorDeps, VisitDeps {
  readonly bannerLimits: BannerLimits
  readonly config: VisitDeps['config'] & ConnectionConfig
}

interface Visit {
  readonly caller: Caller
  readonly connection: Connection
}

/** Service specification section 4.7. */
export function bannerRoutes(app: FastifyInstance, deps: BannerDeps): void {
  const visits = new WeakMap<FastifyRequest, Visit>()
  const limitByAddress = limitRequests(app, deps.bannerLimits.address, networkKey)
  const limitBySite = limitRequests(app, deps.bannerLimits.site, ({ caller }) => caller?.id ?? '')
  const record = (request: FastifyRequest, draft: BannerDraft) => {
    const { caller, connection } = visits.get(request) as Visit
    return recordVisit(deps, caller, connection, draft)
  }
  const optionsWith = (readToken: (request: FastifyRequest) => string): RouteOptions => ({
    bodyLimit: bodyLimitBytes,
    onRequest: async (request, reply) => {
      reply.header('vary', 'Origin')
      const connection = readConnection(deps.config, request)
      await limitByAddress(request)
      const caller = await withinDeadline(request, findTokenHolder(deps, request, reply, readToken(request)))
      visits.set(request, { caller, connection })
      request.caller = caller
      await limitBySite(request)
    },
  })
  route(app, banner.create, ({ body }, { request }) => record(request, body), {
    ...optionsWith(request => readHeader(request.raw, 'x-site-token') ?? ''),
    isIdempotent: ({ body }) => (Object(body).consent_token ?? Object(body).idempotency_key) !== undefined,
  })
  route(
    app,
    banner.klaro,
    async ({ params }, { request }) => {
      const { body } = request
      if (!Buffer.isBuffer(body)) throw wrongMediaType(banner.klaro.bodyMedia)
      const draft = klaroDraft(parseJson(body), parseKlaroId(params.token).required)
      return { id: draft && (await record(request, draft)).id }
    },
    optionsWith(({ params }) => parseKlaroId((params as { token: string }).token).token),
  )
  app.options(banner.create.path, { config: { access: 'anyone' } }, (_request, reply) =>
    reply.code(204).headers(preflightHeaders).send(),
  )
}
