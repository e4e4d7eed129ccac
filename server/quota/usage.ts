import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { usage } from '../../src/contract/index.ts'
import { isKeyCaller } from '../auth/caller.ts'
import { route } from '../http/route.ts'
import { findUsage } from './queries.ts'
import { monthOf, type Quota, quotaHeaders, resetOf } from './quota.ts'

/** Units held by other nodes count as used. */
export function usageRoutes(app: FastifyInstance, { sql, quota }: { readonly sql: Sql; readonly quota: Quota }): void {
  route(app, usage.get, async (_, { caller, setHeader }) => {
    const { accountId } = caller
    const now = quota.now()
    const month = monthOf(now)
    const { used: granted, monthly_quota: limit } = await findUsage(sql, { accountId, month })
    const used = granted - quota.unspent(accountId, month)
    if (isKeyCaller(caller))
      for (const [name, value] of Object.entries(quotaHeaders(limit, used, now))) setHeader(name, value)
    return {
      month: month.slice(0, 7),
      used,
      limit,
      remaining: limit === null ? null : Math.max(0, limit - used),
      resets_at: new Date(resetOf(now) * 1000).toISOString(),
    }
  })
}
