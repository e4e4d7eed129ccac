import type { Sql } from 'postgres'
import type { Job } from '../background-jobs.ts'
import { unavailable } from '../failure.ts'
import { noId, type Pace, pauseAfter } from '../purge/batches.ts'
import { countLeaves, countRecords, findNextBehind, findUncounted } from './queries.ts'

/** Of a statement. */
const leavesPerBatch = 1000

/**
 * Counts the entries that the logs of all accounts have. Can be stopped at any time and run on several nodes at once.
 * Returns the number of entries.
 */
export async function countAll(sql: Sql, pace: Pace): Promise<number> {
  let counted = 0
  let after = noId
  for (;;) {
    const start = performance.now()
    const behind = pace.signal.aborted ? undefined : await findNextBehind(sql, after)
    if (!behind) return counted
    const { accountId, leaves, size } = behind
    const to = Math.min(leaves + leavesPerBatch, size)
    if (await countLeaves(sql, accountId, behind, to)) counted += to - leaves
    if (to === size) after = accountId
    await pauseAfter(start, pace)
  }
}

const maxAttempts = 20

/**
 * Counts everything of the persons of records that a purge is about to empty: afterwards nobody can tell whose they were.
 * @throws Failure `unavailable` if others count all the time
 */
export async function countBeforePurge(sql: Sql, accountId: string, ids: readonly string[]): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const uncounted = await findUncounted(sql, accountId, ids)
    if (uncounted.ids.length === 0 || (await countRecords(sql, accountId, uncounted, uncounted.ids))) return
  }
  throw unavailable('The statistics are being counted by too many nodes at once.')
}

export function statisticsJob(sql: Sql): Job {
  return {
    name: 'statistics',
    intervalMs: 60_000,
    run: async signal => {
      const entries = await countAll(sql, { signal, isModest: true })
      return entries > 0 ? { entries } : null
    },
  }
}
