import type { FastifyInstance, FastifyRequest } from 'fastify'
import { banner } from '../../src/contract/index.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../consents/deps.ts'
import { type Limit, limiter, networkKey } from '../http/rate-limits.ts'
import { inTime, route } from '../http/route.ts'
import { recordVisit } from './service.ts'
import {
  type Connection,
  type ConnectionConfig,
  findVisitor,
  preflightHeaders,
  readConnection,
  type Visitor,
  type VisitorDeps,
} from './visitor.ts'

/** Bytes of a body at most. */
const bodyLimit = 16 * 1024

export interface BannerLimits {
  /** Requests from one address; of IPv6 from one /64. */
  readonly address: Limit
  /** Requests with the tokens of one site. */
  readonly site: Limit
}

/** The limits where an operator sets none. */
export const usualLimits: BannerLimits = limitsOf({ publicRatePerAddress: 60, publicRatePerSite: 6000 })

export interface BannerDeps extends VisitorDeps, Deps {
  readonly bannerLimits: BannerLimits
  readonly config: Deps['config'] & ConnectionConfig
}

/** What is known of a request before its body is read. */
interface Visit {
  readonly visitor: Visitor
  readonly connection: Connection
}

/** The public flow of the service specification's section 4.7: for browsers on pages of the site's own origins. */
export function bannerRoutes(app: FastifyInstance, deps: BannerDeps): void {
  const { bannerLimits } = deps
  const visits = new WeakMap<FastifyRequest, Visit>()
  const ofAddress = limiter(app, bannerLimits.address, networkKey)
  const ofSite = limiter(app, bannerLimits.site, ({ caller }) => caller?.id ?? '')
  route(
    app,
    banner.create,
    ({ body }, { request }) => {
      const { visitor, connection } = visits.get(request) as Visit
      return recordVisit(deps, visitor, connection, body)
    },
    {
      bodyLimit,
      onRequest: async (request, reply) => {
        reply.header('vary', 'Origin')
        const connection = readConnection(deps.config, request)
        await ofAddress(request)
        const visitor = await inTime(request, findVisitor(deps, request, reply))
        visits.set(request, { visitor, connection })
        request.caller = visitor.caller
        await ofSite(request)
      },
    },
  )
  app.options(banner.create.path, { config: { access: 'anyone' } }, (_request, reply) =>
    reply.code(204).headers(preflightHeaders).send(),
  )
}

/** The limits that an operator has set. */
export function limitsOf({
  publicRatePerAddress,
  publicRatePerSite,
}: Pick<Config, 'publicRatePerAddress' | 'publicRatePerSite'>): BannerLimits {
  return {
    address: { max: publicRatePerAddress, seconds: 60 },
    site: { max: publicRatePerSite, seconds: 60 },
  }
}
