import type { Sql } from 'postgres'
import type { Config } from '../config.ts'
import type { Job } from '../jobs.ts'
import { purge, purgeBefore } from './service.ts'

const minute = 60_000

/**
 * Deletes what sites do not keep any longer, and purges what was deleted so many days ago: within a minute where that is
 * to be at once, and nothing where it is never to be.
 */
export function purgeJob(sql: Sql, { purgeAfterDays: days }: Pick<Config, 'purgeAfterDays'>): Job {
  const run = async (signal: AbortSignal) => {
    const done = { deleted: 0, purged: 0 }
    const before = days === null ? null : purgeBefore(days)
    for await (const { expired, purged } of purge(sql, { before, signal, isModest: true })) {
      done.deleted += expired
      done.purged += purged
    }
    return done.deleted + done.purged > 0 ? done : null
  }
  return { name: 'purging', every: days === 0 ? minute : 60 * minute, run }
}
