import type { FastifyInstance } from 'fastify'
import { sites } from '../../src/contract/index.ts'
import { unknownSite } from '../failure.ts'
import { pathId, route } from '../http/route.ts'
import * as service from './service.ts'

export function siteRoutes(app: FastifyInstance, deps: service.SiteDeps): void {
  route(app, sites.list, ({ query }, { caller }) => service.getSites(deps, caller, query))
  route(app, sites.create, ({ body }, { caller }) => service.createSite(deps, caller, body))
  route(app, sites.update, ({ params, body }, { caller }) =>
    service.changeSite(deps, caller, pathId(params, unknownSite), body),
  )
  route(app, sites.rotateToken, ({ params, body }, { caller }) =>
    service.rotateToken(deps, caller, pathId(params, unknownSite), body),
  )
}
