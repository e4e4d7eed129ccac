// An entry that existed when a checkpoint was made has an earlier leaf. One after a checkpoint that is dated before it
// was written later than stated.

import type { Sql } from 'postgres'
import { backdatingToleranceMs, completeSize, isBackdated } from '../../src/evidence/dates.ts'
import type { KeyChain } from '../../src/evidence/key-chain.ts'
import { readCheckpoint, type SignedCheckpoint } from '../../src/evidence/signed.ts'
import { toArrayLiteral } from '../db/fragments.ts'
import { Failure } from '../failure.ts'
import { type CheckpointRow, listPlaces, type PlaceRow, readLastCheckpoint, withTime } from './queries.ts'
import { readKeys } from './signer.ts'

export interface Backdated {
  readonly consent_id: string
  readonly version: number
  readonly at: Date
  readonly checkpoint: Date
}

export function tryReadCheckpoint(document: string): SignedCheckpoint | null {
  try {
    return readCheckpoint(document)
  } catch {
    return null
  }
}

/**
 * Reads signed documents, because columns can be tampered with.
 * @throws Failure `internal_error` if one is not signed by a key of the chain, or is of another log or size
 */
async function needSigned(
  sql: Sql,
  accountId: string,
  sizes: readonly number[],
  { keys }: Pick<KeyChain, 'keys'>,
): Promise<Map<number, SignedCheckpoint>> {
  const wanted = [...new Set(sizes)].filter(size => size > 0)
  const rows =
    wanted.length === 0
      ? []
      : await sql<{ size: number; document: string | null }[]>`
          select tree_size::float8 as size, document from checkpoints
          where account_id = ${accountId} and tree_size = any (${toArrayLiteral(wanted.map(String))}::bigint[])`
  const found = new Map(
    rows.flatMap(({ size, document }): [number, SignedCheckpoint][] => {
      const signed = tryReadCheckpoint(document ?? '')
      if (signed?.checkpoint.account_id !== accountId || signed.checkpoint.tree_size !== size) return []
      const key = keys.get(signed.checkpoint.key_id)?.publicKey
      return key && signed.isSignedBy(key) ? [[size, signed]] : []
    }),
  )
  const changed = wanted.find(size => !found.has(size))
  if (changed === undefined) return found
  throw new Failure('internal_error', `The checkpoint of ${changed} leaves was changed; see consentctl admin verify.`)
}

/**
 * Returns the signed time of the last complete checkpoint up to `last`, or null.
 * @throws Failure `internal_error` if it does not verify
 */
export async function findCompleteTime(
  sql: Sql,
  accountId: string,
  last: Pick<CheckpointRow, 'document'> | undefined,
  chain: Pick<KeyChain, 'keys'>,
): Promise<Date | null> {
  const size = last ? completeSize(readCheckpoint(last.document).checkpoint) : 0
  const complete = (await needSigned(sql, accountId, [size], chain)).get(size)
  return complete ? new Date(complete.checkpoint.created_at) : null
}

export interface Place extends PlaceRow {
  /** The first checkpoint that covers the entry, or null. */
  readonly after: SignedCheckpoint | null
  /** The last complete checkpoint that does not, or null. */
  readonly before: SignedCheckpoint | null
}

/**
 * Returns the oldest first.
 * @throws Failure `internal_error` if a checkpoint does not verify by keys that chain to the anchor
 */
export async function findPlaces(sql: Sql, accountId: string, id: string, anchor: string): Promise<Place[]> {
  const chain = await readKeys(sql, anchor)
  const { last, size: covered } = await readLastCheckpoint(sql, accountId) // first, so that it covers no later entry
  const newest = last?.tree_size ?? 0
  const rows = await listPlaces(sql, accountId, id)
  if (rows.some(({ leaf_index, size }) => size === null && leaf_index !== null && leaf_index < covered))
    throw new Failure('internal_error', `The checkpoint of ${covered} leaves is missing; see consentctl admin verify.`)
  const found = await needSigned(sql, accountId, [...rows.map(({ size }) => size ?? 0), newest], chain)
  const sizeBefore = ({ size }: PlaceRow) => {
    const signed = found.get(size ?? newest)
    if (!signed) return 0
    return size === null ? completeSize(signed.checkpoint) : signed.checkpoint.previous_size
  }
  const earlier = await needSigned(sql, accountId, rows.map(sizeBefore), chain)
  return rows.map(row => ({
    ...row,
    after: found.get(row.size ?? 0) ?? null,
    before: earlier.get(sizeBefore(row)) ?? null,
  }))
}

export function findBackdated(places: readonly Place[]): Backdated | undefined {
  return places.flatMap(place => toBackdated(place, place.before && new Date(place.before.checkpoint.created_at)))[0]
}

interface Dated {
  readonly consent_id: string
  readonly version: number
  readonly at: Date | null
}

/** Dated before a complete checkpoint that was made without it. */
export function toBackdated({ consent_id, version, at }: Dated, checkpoint: Date | null): Backdated[] {
  return at && checkpoint && isBackdated(at, checkpoint) ? [{ consent_id, version, at, checkpoint }] : []
}

/** Returns entries that no checkpoint covers, of a log of `size` covered leaves, dated before a complete checkpoint. */
export async function listBackdated(
  sql: Sql,
  accountId: string,
  { checkpoint, size }: { readonly checkpoint: Date; readonly size: number },
  after: Pick<Backdated, 'consent_id' | 'version'> | undefined,
  limit: number,
): Promise<Backdated[]> {
  return await sql<Backdated[]>`
    select l.consent_id, l.version, h.created_at as at, ${checkpoint}::timestamptz as checkpoint
    from (
      select consent_id, version from log_entries where account_id = ${accountId} and leaf_index is null
      union all
      select consent_id, version from log_entries where account_id = ${accountId} and leaf_index >= ${size}
    ) as l ${withTime(sql, accountId)}
    where h.created_at < ${new Date(checkpoint.getTime() - backdatingToleranceMs)}
      ${after ? sql`and (l.consent_id, l.version) > (${after.consent_id}::uuid, ${after.version}::integer)` : sql``}
    order by l.consent_id, l.version limit ${limit}`
}
