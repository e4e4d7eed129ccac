import type { FastifyInstance } from 'fastify'
import { holds } from '../../src/contract/index.ts'
import { pathId, route } from '../http/route.ts'
import * as service from './service.ts'

export function holdRoutes(app: FastifyInstance, deps: service.HoldDeps): void {
  route(app, holds.list, (_, { caller }) => service.getHolds(deps, caller))
  route(app, holds.add, ({ body }, { caller }) => service.addHold(deps, caller, body))
  route(app, holds.remove, ({ params }, { caller }) =>
    service.removeHold(deps, caller, pathId(params, service.unknownHold)),
  )
}
