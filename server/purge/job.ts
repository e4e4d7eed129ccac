import type { Sql } from 'postgres'
import type { Config } from '../config.ts'
import type { Job } from '../jobs.ts'
import { purge, purgeBefore } from './service.ts'

const minute = 60_000

/** What purges by itself; nothing does where that is never to be. */
export function purgeJob(sql: Sql, { purgeAfterDays: days }: Pick<Config, 'purgeAfterDays'>): Job[] {
  if (days === null) return []
  const run = async (signal: AbortSignal) => {
    let records = 0
    const options = { before: purgeBefore(days), signal, isModest: true }
    for await (const { purged } of purge(sql, options)) records += purged
    return records > 0 ? { records } : null
  }
  return [{ name: 'purging', every: days === 0 ? minute : 60 * minute, run }]
}
