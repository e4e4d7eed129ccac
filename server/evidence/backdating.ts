// The order of the log contradicts a clock: what was there when a checkpoint was made has a leaf before it. An entry behind
// a checkpoint that is dated before it was written later than it says.

import type { Fragment, Sql } from 'postgres'
import { backdatingToleranceMs } from '../../src/evidence/proofs.ts'
import { withTime } from './queries.ts'

/** Leaves of one checkpoint. Part of the format of the log: fewer tell that a run of the checkpointer ends there. */
export const entriesPerCheckpoint = 2000

/** PostgreSQL's largest bigint. */
const maxLeaf = '9223372036854775807'

/** An entry, and the checkpoint that it contradicts. */
export interface Backdated {
  readonly consent_id: string
  readonly version: number
  readonly at: Date
  readonly checkpoint: Date
}

export function describeBackdating({ at, checkpoint }: Pick<Backdated, 'at' | 'checkpoint'>): string {
  return `is dated ${at.toISOString()}, but the checkpoint of ${checkpoint.toISOString()} was made without it`
}

/**
 * The time of the checkpoint before the leaf `leaf` (null for what is not in the log yet), since when no entry of before can
 * have been left; null if there is none. A run of the checkpointer appends all that it finds at its beginning, in checkpoints
 * of 2,000 leaves and a smaller one at its end: so only what follows a whole run is behind it, and its first checkpoint is
 * the one to compare with.
 */
export function checkpointBefore(sql: Sql, accountId: string, leaf: Fragment): Fragment {
  const ends = sql`account_id = ${accountId} and tree_size - from_size < ${entriesPerCheckpoint}`
  return sql`(
    select first.created_at from (
      select tree_size from checkpoints where ${ends} and tree_size <= coalesce(${leaf}, ${maxLeaf})
      order by tree_size desc limit 1
    ) as last cross join lateral (
      select created_at from checkpoints
      where account_id = ${accountId} and tree_size > coalesce(
        (select max(tree_size) from checkpoints where ${ends} and tree_size < last.tree_size), 0)
      order by tree_size limit 1
    ) as first)`
}

export async function findCheckpointBefore(sql: Sql, accountId: string): Promise<Date | null> {
  const [row] = await sql<{ at: Date | null }[]>`select ${checkpointBefore(sql, accountId, sql`null::bigint`)} as at`
  return row?.at ?? null
}

/** Returns the first back-dated entry of a record. */
export async function findBackdatedEntry(sql: Sql, accountId: string, id: string): Promise<Backdated | undefined> {
  const [entry] = await sql<Backdated[]>`
    select consent_id, version, at, checkpoint from (
      select h.consent_id, h.version, h.created_at as at,
        ${checkpointBefore(sql, accountId, sql`l.leaf_index`)} as checkpoint
      from consent_history h
      left join log_entries l on l.account_id = h.account_id and l.consent_id = h.consent_id and l.version = h.version
      where h.account_id = ${accountId} and h.consent_id = ${id}
    ) as entries
    where at < checkpoint - ${backdatingToleranceMs} * interval '1 millisecond' order by version limit 1`
  return entry
}

/** Returns the next back-dated entries that are not in the log yet, in order of record and version. */
export async function listBackdated(
  sql: Sql,
  accountId: string,
  after: Pick<Backdated, 'consent_id' | 'version'> | undefined,
  limit: number,
): Promise<Backdated[]> {
  const checkpoint = await findCheckpointBefore(sql, accountId)
  if (checkpoint === null) return []
  return await sql<Backdated[]>`
    select l.consent_id, l.version, h.created_at as at, ${checkpoint}::timestamptz as checkpoint
    from log_entries l ${withTime(sql, accountId)}
    where l.account_id = ${accountId} and l.leaf_index is null
      and h.created_at < ${new Date(checkpoint.getTime() - backdatingToleranceMs)}
      ${after ? sql`and (l.consent_id, l.version) > (${after.consent_id}::uuid, ${after.version}::integer)` : sql``}
    order by l.consent_id, l.version limit ${limit}`
}
