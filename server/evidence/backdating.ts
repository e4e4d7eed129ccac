// The log's order can contradict a date. An entry that existed when a checkpoint was made has a leaf before it, so an entry
// after a checkpoint that is dated before it was written later than stated.

import type { Fragment, Sql } from 'postgres'
import { type KeyChain, readKeyChain } from '../../src/evidence/key-chain.ts'
import { backdatingToleranceMs, entriesPerCheckpoint, isBackdated } from '../../src/evidence/proofs.ts'
import { readCheckpoint } from '../../src/evidence/signed.ts'
import { toArrayLiteral } from '../db/fragments.ts'
import { Failure } from '../failure.ts'
import { listKeyStatements, withTime } from './queries.ts'

/** PostgreSQL's largest bigint. */
const maxLeaf = '9223372036854775807'

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
 * SQL for the size of the checkpoint before the leaf `leaf` (null for entries not in the log yet); null if there is none. A
 * run of the checkpointer appends everything present at its start, in checkpoints of 2,000 leaves and a smaller one at the
 * end. So only leaves after a complete run are certainly later, and its first checkpoint is the one to compare with.
 */
export function checkpointBefore(sql: Sql, accountId: string, leaf: Fragment): Fragment {
  const ends = sql`account_id = ${accountId} and tree_size - from_size < ${entriesPerCheckpoint}`
  return sql`(
    select first.tree_size::float8 from (
      select tree_size from checkpoints where ${ends} and tree_size <= coalesce(${leaf}, ${maxLeaf})
      order by tree_size desc limit 1
    ) as last cross join lateral (
      select tree_size from checkpoints
      where account_id = ${accountId} and tree_size > coalesce(
        (select max(tree_size) from checkpoints where ${ends} and tree_size < last.tree_size), 0)
      order by tree_size limit 1
    ) as first)`
}

/**
 * Returns times by size from the signed documents, because columns can be tampered with. Omits checkpoints not signed by a
 * key of the chain, or of another log or size.
 */
export async function findSignedTimes(
  sql: Sql,
  accountId: string,
  sizes: readonly (number | null)[],
  { keys }: Pick<KeyChain, 'keys'>,
): Promise<Map<number, Date>> {
  const wanted = [...new Set(sizes.filter(size => size !== null))]
  if (wanted.length === 0) return new Map()
  const rows = await sql<{ size: number; document: string | null }[]>`
    select tree_size::float8 as size, document from checkpoints
    where account_id = ${accountId} and tree_size = any (${toArrayLiteral(wanted.map(String))}::bigint[])`
  return new Map(
    rows.flatMap(({ size, document }) => {
      const signed = tryReadCheckpoint(document ?? '')
      if (signed?.checkpoint.account_id !== accountId || signed.checkpoint.tree_size !== size) return []
      const key = keys.get(signed.checkpoint.key_id)?.publicKey
      return key && signed.isSignedBy(key) ? [[size, new Date(signed.checkpoint.created_at)]] : []
    }),
  )
}

export function tryReadCheckpoint(document: string): ReturnType<typeof readCheckpoint> | null {
  try {
    return readCheckpoint(document)
  } catch {
    return null
  }
}

/** @throws Failure `internal_error` if a checkpoint does not verify */
export async function needSignedTimes(sql: Sql, accountId: string, sizes: readonly (number | null)[], anchor: string) {
  const statements = await listKeyStatements(sql)
  const chain = readKeyChain(
    statements.map(({ document }) => document),
    anchor,
  )
  const times = await findSignedTimes(sql, accountId, sizes, chain)
  const changed = sizes.find(size => size !== null && !times.has(size))
  if (changed === undefined) return times
  throw new Failure('internal_error', `The checkpoint of ${changed} leaves was changed; see consentctl admin verify.`)
}

async function findSizeBefore(sql: Sql, accountId: string): Promise<number | null> {
  const [row] = await sql<{ size: number | null }[]>`
    select ${checkpointBefore(sql, accountId, sql`null::bigint`)} as size`
  return row?.size ?? null
}

/** @throws Failure as `findBackdatedEntry` does */
export async function findCheckpointBefore(sql: Sql, accountId: string, anchor: string): Promise<Date | null> {
  const size = await findSizeBefore(sql, accountId)
  return size === null ? null : ((await needSignedTimes(sql, accountId, [size], anchor)).get(size) ?? null)
}

/**
 * Returns a record's first back-dated entry.
 * @throws Failure `internal_error` if a checkpoint to compare with does not verify by keys that chain to the anchor
 */
export async function findBackdatedEntry(
  sql: Sql,
  accountId: string,
  id: string,
  anchor: string,
): Promise<Backdated | undefined> {
  const entries = await sql<(Omit<Backdated, 'checkpoint'> & { size: number | null })[]>`
    select h.consent_id, h.version, h.created_at as at, ${checkpointBefore(sql, accountId, sql`l.leaf_index`)} as size
    from consent_history h
    left join log_entries l on l.account_id = h.account_id and l.consent_id = h.consent_id and l.version = h.version
    where h.account_id = ${accountId} and h.consent_id = ${id} order by h.version`
  const sizes = entries.map(({ size }) => size)
  const times = await needSignedTimes(sql, accountId, sizes, anchor)
  return entries
    .flatMap(({ size, ...entry }) => {
      const checkpoint = size === null ? undefined : times.get(size)
      return checkpoint && isBackdated(entry.at, checkpoint) ? [{ ...entry, checkpoint }] : []
    })
    .at(0)
}

/** Returns the next back-dated entries not in the log yet; none if the checkpoint before them does not verify. */
export async function listBackdated(
  sql: Sql,
  { accountId, keys }: Pick<KeyChain, 'keys'> & { readonly accountId: string },
  after: Pick<Backdated, 'consent_id' | 'version'> | undefined,
  limit: number,
): Promise<Backdated[]> {
  const size = await findSizeBefore(sql, accountId)
  const checkpoint = (await findSignedTimes(sql, accountId, [size], { keys })).get(size ?? 0)
  if (!checkpoint) return []
  return await sql<Backdated[]>`
    select l.consent_id, l.version, h.created_at as at, ${checkpoint}::timestamptz as checkpoint
    from log_entries l ${withTime(sql, accountId)}
    where l.account_id = ${accountId} and l.leaf_index is null
      and h.created_at < ${new Date(checkpoint.getTime() - backdatingToleranceMs)}
      ${after ? sql`and (l.consent_id, l.version) > (${after.consent_id}::uuid, ${after.version}::integer)` : sql``}
    order by l.consent_id, l.version limit ${limit}`
}
