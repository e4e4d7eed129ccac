import type { Sql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'
import type { Job } from '../background-jobs.ts'
import { dbErrorCode } from '../db/errors.ts'
import { NextAccount, partialMessage } from '../db/next-account.ts'
import { unavailable } from '../failure.ts'
import { noId } from '../ids.ts'
import { type Pace, pauseAfter } from '../pace.ts'
import { type BehindRow, countLeaves, countRecords, findBehind, findUncounted } from './queries.ts'

const maxLeavesPerBatch = 1000

const timeoutCode = '57014'

/**
 * Counts all accounts. Can be stopped at any time and run on several nodes at once.
 * @throws OperatorError at the end if an account failed
 */
export async function countAll(sql: Sql, pace: Pace): Promise<number> {
  let counted = 0
  let after = noId
  let most = maxLeavesPerBatch
  const failed: string[] = []
  const accounts = new NextAccount(sql)
  for (;;) {
    const start = performance.now()
    const behind = pace.signal.aborted ? undefined : await accounts.find(after, among => findBehind(sql, among))
    if (!behind) break
    const { accountId, leaves, size } = behind
    try {
      const { to, entries } = await countBatch(sql, behind, most)
      counted += entries
      if (to === size) after = accountId
      most = to === size ? maxLeavesPerBatch : Math.min(2 * (to - leaves), maxLeavesPerBatch)
    } catch (error) {
      failed.push(`the account ${accountId}: ${dbErrorCode(error) ?? (error as Error).message}`)
      after = accountId
    }
    await pauseAfter(start, pace)
  }
  if (failed.length > 0)
    throw new OperatorError(`${failed.length} accounts could not be counted, the first is ${failed[0]}`)
  if (accounts.isPartial) throw new OperatorError(partialMessage)
  return counted
}

/** Halves `most` after each timeout. Returns the position up to which it counted. */
async function countBatch(sql: Sql, behind: BehindRow, most: number): Promise<{ to: number; entries: number }> {
  const to = Math.min(behind.leaves + most, behind.size)
  const leaves = to - behind.leaves
  try {
    return { to, entries: (await countLeaves(sql, behind.accountId, behind, to)) ? leaves : 0 }
  } catch (error) {
    if (dbErrorCode(error) !== timeoutCode || leaves === 1) throw error
    return await countBatch(sql, behind, Math.ceil(leaves / 2))
  }
}

const maxAttempts = 20
const maxMs = 5000

/**
 * Counts all entries of the persons whose records a purge will empty.
 * @throws Failure `unavailable` if it is aborted, or other nodes keep counting
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
  throw unavailable('The statistics were not counted in time.')
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
