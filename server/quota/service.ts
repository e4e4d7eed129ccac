import type { Sql } from 'postgres'
import type { Usage } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { findUsage } from './queries.ts'
import { monthOf, type Quota, resetOf } from './quota.ts'

/** What the caller's account has used this month; what other nodes hold for the moment counts as used. */
export async function getUsage(
  { sql, quota }: { readonly sql: Sql; readonly quota: Quota },
  { accountId }: Caller,
): Promise<Usage> {
  const now = new Date()
  const month = monthOf(now)
  const { used: granted, monthly_quota: limit } = await findUsage(sql, { accountId, month })
  const used = granted - quota.unspent(accountId, month)
  return {
    month: month.slice(0, 7),
    used,
    limit,
    remaining: limit === null ? null : Math.max(0, limit - used),
    resets_at: new Date(resetOf(now) * 1000).toISOString(),
  }
}
