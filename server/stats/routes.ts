import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { stats } from '../../src/contract/index.ts'
import { countList } from '../consents/list.ts'
import { route } from '../http/route.ts'
import { getStats } from './service.ts'

export function statsRoutes(app: FastifyInstance, { sql }: { readonly sql: Sql }): void {
  route(app, stats.get, ({ query }, { caller }) => getStats(sql, caller.accountId, query))
  route(app, stats.count, async ({ query }, { caller }) => ({ count: await countList(sql, caller.accountId, query) }))
}
