import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { usage } from '../../src/contract/index.ts'
import { route } from '../http/route.ts'
import type { Quota } from './quota.ts'
import { getUsage } from './service.ts'

export function usageRoutes(app: FastifyInstance, deps: { readonly sql: Sql; readonly quota: Quota }): void {
  route(app, usage.get, (_, { caller }) => getUsage(deps, caller))
}
