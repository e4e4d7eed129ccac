import type { Sql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'
import type { Job } from '../background-jobs.ts'
import { dbErrorCode } from '../db/errors.ts'
import { NextAccount, partialMessage } from '../db/next-account.ts'
import { unavailable } from '../failure.ts'
import { noId } from '../ids.ts'
import { type Pace, pauseAfter } from '../pace.ts'
import { countLeaves, countRecords, findBehind, findUncounted } from './queries.ts'

const leavesPerBatch = 1000

/**
 * Counts the log entries of all accounts. Can be stopped at any time and run on several nodes at once.
 * @throws OperatorError at the end if an account failed; the others are counted
 */
export async function countAll(sql: Sql, pace: Pace): Promise<number> {
  let counted = 0
  let after = noId
  const failed: string[] = []
  const accounts = new NextAccount(sql)
  for (;;) {
    const start = performance.now()
    const behind = pace.signal.aborted ? undefined : await accounts.find(after, among => findBehind(sql, among))
    if (!behind) break
    const { accountId, leaves, size } = behind
    const to = Math.min(leaves + leavesPerBatch, size)
    try {
      if (await countLeaves(sql, accountId, behind, to)) counted += to - leaves
      if (to === size) after = accountId
    } catch (error) {
      failed.push(`the account ${accountId}: ${dbErrorCode(error) ?? (error as Error).message}`)
      after = accountId
    }
    await pauseAfter(start, pace)
  }
  if (failed.length > 0) throw new OperatorError(`${failed.length} accounts are not counted, first ${failed[0]}`)
  if (accounts.isPartial) throw new OperatorError(partialMessage)
  return counted
}

const maxAttempts = 20
const maxMs = 5000

/**
 * Counts all entries of the persons whose records a purge will empty, because the records do not name them afterwards.
 * @throws Failure `unavailable` if other nodes count all the time, or it is aborted
 */
export async function countBeforePurge(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const until = performance.now() + maxMs
  for (let attempt = 0; attempt < maxAttempts && performance.now() < until && !signal.aborted; attempt += 1) {
    const uncounted = await findUncounted(sql, accountId, ids)
    if (uncounted.ids.length === 0 || (await countRecords(sql, accountId, uncounted, uncounted.ids))) return
  }
  throw unavailable('There was no time to count them.')
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
