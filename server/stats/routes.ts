import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { stats } from '../../src/contract/index.ts'
import { Admission } from '../admission.ts'
import type { AccessLog } from '../audit/access-log.ts'
import { countList } from '../consents/list.ts'
import { route } from '../http/route.ts'
import { getStats } from './service.ts'

interface StatsDeps {
  readonly sql: Sql
  readonly accessLog: AccessLog
}

const admission = new Admission({
  ...{ running: 3, perTenant: 1, waiting: 20, maxWaitMs: 4000 },
  message: 'Too many concurrent requests for statistics: try again in a few seconds.',
})

export function statsRoutes(app: FastifyInstance, { sql, accessLog }: StatsDeps): void {
  route(app, stats.get, ({ query }, { caller }) => admission.run(caller.accountId, () => getStats(sql, caller, query)))
  route(app, stats.count, async ({ query }, { caller }) => {
    const count = await countList(sql, caller, query)
    accessLog.record(caller, 'count', query.subject_id)
    return { count }
  })
}
