import type { Sql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'
import type { Job } from '../background-jobs.ts'
import { forEachAccount, partialMessage } from '../db/accounts.ts'
import { dbErrorCode } from '../db/errors.ts'
import { unavailable } from '../failure.ts'
import { type Pace, pauseAfter } from '../pace.ts'
import { type BehindRow, countLeaves, countRecords, findUncounted, listBehind } from './queries.ts'

const maxLeavesPerBatch = 1000

const timeoutCode = '57014'

/**
 * Counts all accounts. Can be stopped at any time and run on several nodes at once.
 * @throws OperatorError at the end if an account failed
 */
export async function countAll(sql: Sql, pace: Pace): Promise<number> {
  let counted = 0
  const { failures, isPartial } = await forEachAccount(sql, {
    signal: pace.signal,
    atOnce: pace.isModest ? 1 : undefined,
    list: (among, limit) => listBehind(sql, among, limit),
    work: async behind => {
      let [next, most]: [BehindRow, number] = [behind, maxLeavesPerBatch]
      while (next.leaves < next.size && !pace.signal.aborted) {
        const start = performance.now()
        const to = await countBatch(sql, next, most)
        await pauseAfter(start, pace)
        if (to === null) break
        counted += to - next.leaves
        most = Math.min(2 * (to - next.leaves), maxLeavesPerBatch)
        next = { ...next, leaves: to, revision: next.revision + 1 }
      }
      return next.leaves > behind.leaves
    },
  })
  const [failed] = failures
  if (failed) {
    const first = `the account ${failed[0]}: ${dbErrorCode(failed[1]) ?? failed[1].message}`
    throw new OperatorError(`${failures.length} accounts could not be counted, the first is ${first}`)
  }
  if (isPartial) throw new OperatorError(partialMessage)
  return counted
}

/** Halves `most` after each timeout. Returns the position up to which it counted, or null if another node was faster. */
async function countBatch(sql: Sql, behind: BehindRow, most: number): Promise<number | null> {
  const to = Math.min(behind.leaves + most, behind.size)
  const leaves = to - behind.leaves
  try {
    return (await countLeaves(sql, behind.account_id, behind, to)) ? to : null
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
