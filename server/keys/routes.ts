import type { FastifyInstance } from 'fastify'
import { keys } from '../../src/contract/index.ts'
import { pathId, route } from '../http/route.ts'
import * as service from './service.ts'

export function keyRoutes(app: FastifyInstance, deps: service.KeyDeps): void {
  route(app, keys.list, (_, { caller }) => service.getKeys(deps, caller))
  route(app, keys.create, ({ body }, { caller }) => service.createKey(deps, caller, body))
  route(app, keys.revoke, ({ params }, { caller }) =>
    service.revokeKey(deps, caller, pathId(params, 'There is no such API key.')),
  )
}
