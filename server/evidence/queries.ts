import type { Fragment, Sql } from 'postgres'
import type { CheckpointQuery, InclusionQuery } from '../../src/contract/index.ts'
import { tileWidth } from '../../src/evidence/merkle.ts'
import type { Accounts } from '../db/accounts.ts'
import { dbErrorCode } from '../db/errors.ts'
import { toArrayLiteral } from '../db/fragments.ts'
import { andReached, type Reach } from '../db/reach.ts'

/** Dates statements about keys: a starting machine's clock may be wrong. */
export async function readDatabaseTime(sql: Sql): Promise<Date> {
  const [row] = await sql<{ now: Date }[]>`select clock_timestamp() as now`
  if (!row) throw new Error('the database returned no time')
  return row.now
}

/** True if there are keys, and the database holds no private one. */
export async function isKeyElsewhere(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (select 1 from key_statements) and not exists (select 1 from secrets where name = 'signing') as found`
  return row?.found === true
}

export function listKeyStatements(sql: Sql): Promise<KeyStatementRow[]> {
  return sql<KeyStatementRow[]>`
    select position, coalesce(document, '') as document from key_statements order by position`
}

export interface KeyStatementRow {
  readonly position: number
  readonly document: string
}

/** Returns false if another node has appended since `read`. */
export async function insertKeyStatement(
  sql: Sql,
  read: readonly KeyStatementRow[],
  document: string,
): Promise<boolean> {
  const position = (read.at(-1)?.position ?? -1) + 1
  try {
    // Without "on conflict", for which Citus needs the right to change rows.
    await sql`insert into key_statements (position, document) values (${position}, ${document})`
    return true
  } catch (error) {
    if (dbErrorCode(error) !== '23505') throw error
    return false
  }
}

export async function hasCheckpoint(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`select exists (select 1 from checkpoints) as found`
  return row?.found === true
}

export interface CheckpointRow {
  readonly account_id: string
  readonly tree_size: number
  readonly from_size: number
  readonly root_hash: Buffer
  /** Roots of the largest full subtrees. */
  readonly frontier: Buffer
  /** Roots of the tiles that it completes. */
  readonly tiles: Buffer
  readonly document: string
  readonly created_at: Date
}

/** With an entry that no checkpoint covers. */
export function listUncoveredAccounts(sql: Sql, accounts: Accounts, limit: number): Promise<{ account_id: string }[]> {
  return sql<{ account_id: string }[]>`
    select a.account_id from accounts a
    where a.account_id ${accounts} and (
      exists (
        select 1 from log_entries l
        where l.account_id = a.account_id and l.account_id ${accounts} and l.leaf_index is null)
      or (
        select l.leaf_index from log_entries l
        where l.account_id = a.account_id and l.account_id ${accounts} and l.leaf_index is not null
        order by l.leaf_index desc limit 1
      ) >= coalesce((
        select max(c.tree_size) from checkpoints c where c.account_id = a.account_id and c.account_id ${accounts}
      ), 0))
    order by a.account_id limit ${limit}`
}

/** `size`: that of the newest one, as the account has it; a larger one is missing. -1 if that was changed. */
export async function readLastCheckpoint(
  sql: Sql,
  accountId: string,
): Promise<{ readonly last: CheckpointRow | undefined; readonly size: number }> {
  const [row] = await sql<(Partial<CheckpointRow> & { size: number })[]>`
    select coalesce((select coalesce(checkpoint_size, -1) from accounts where account_id = ${accountId}), 0)::float8 as size, c.*
    from (values (1)) as one left join lateral (
      select ${checkpointColumns(sql)}
      from checkpoints where account_id = ${accountId} and tree_size > 0 order by checkpoints.tree_size desc limit 1
    ) c on true`
  if (!row) throw new Error('the database returned no row')
  const { size, ...last } = row
  return { last: last.tree_size ? (last as CheckpointRow) : undefined, size }
}

export async function findLastCheckpoint(sql: Sql, accountId: string): Promise<CheckpointRow | undefined> {
  return (await readLastCheckpoint(sql, accountId)).last
}

/** Condition that an entry of the log is of a reachable record: who reaches only some sites reaches no administrators' entry. */
function andOfReached(sql: Sql, reach: Reach): Fragment {
  if (reach.siteIds === null) return sql``
  return sql`and exists (
    select 1 from consents c
    where c.account_id = ${reach.accountId} and c.id = log_entries.consent_id ${andReached(sql, reach, sql`c.site_id`)})`
}

export async function findCheckpoint(
  sql: Sql,
  reach: Reach,
  { tree_size, timestamped, record_id, version }: CheckpointQuery,
): Promise<string | undefined> {
  const { accountId } = reach
  const withTimestamp = sql`and exists (
    select 1 from timestamp_tokens t where t.account_id = ${accountId} and t.tree_size = c.tree_size)`
  const withEntry = sql`and tree_size > (
    select leaf_index from log_entries
    where account_id = ${accountId} and consent_id = ${record_id ?? null} and version = ${version ?? 1}
      ${andOfReached(sql, reach)})`
  const [row] = await sql<{ document: string }[]>`
    select document from checkpoints c where account_id = ${accountId} and tree_size > 0
      ${tree_size === undefined ? sql`` : sql`and tree_size = ${tree_size}`}
      ${timestamped ? withTimestamp : sql``}
      ${record_id === undefined ? sql`` : withEntry}
    order by tree_size ${record_id === undefined ? sql`desc` : sql`asc`} limit 1`
  return row?.document
}

/** Returns the token of the newest checkpoint by default. */
export async function findTimestamp(sql: Sql, accountId: string, size?: number): Promise<Buffer | undefined> {
  const [row] = await sql<{ token: Buffer }[]>`
    select token from timestamp_tokens where account_id = ${accountId}
      ${size === undefined ? sql`` : sql`and tree_size = ${size}`}
    order by tree_size desc limit 1`
  return row?.token
}

/** By size of the checkpoint. */
export async function listTimestamps(
  sql: Sql,
  accountId: string,
  sizes: readonly number[],
): Promise<ReadonlyMap<number, Buffer>> {
  const rows = await sql<{ size: number; token: Buffer }[]>`
    select tree_size::float8 as size, token from timestamp_tokens
    where account_id = ${accountId} and tree_size = any (${toArrayLiteral(sizes.map(String))}::bigint[])`
  return new Map(rows.map(({ size, token }) => [size, token]))
}

export async function findRoot(sql: Sql, accountId: string, size: number): Promise<Buffer | undefined> {
  const [row] = await sql<{ root_hash: Buffer }[]>`
    select root_hash from checkpoints where account_id = ${accountId} and tree_size = ${size}`
  return row?.root_hash
}

export interface Leaf {
  readonly consent_id: string
  readonly version: number
  readonly leaf_index: number
  readonly hash: Buffer
}

/** A size that the log had. */
export interface TreeRow {
  readonly size: number
  /** Of its checkpoint. Null if it has none. */
  readonly root: Buffer | null
}

/** Subquery: one of the sizes up to that of the newest checkpoint, by default that; no row if it is larger. */
function treeOf(sql: Sql, accountId: string, size: number | undefined): Fragment {
  return sql`(
    select coalesce(${size ?? null}, max(tree_size)) as size from checkpoints
    where account_id = ${accountId} having max(tree_size) >= ${size ?? 0})`
}

/** Returns one of the leaves of a tree, by default of the newest version and the newest checkpoint, and the tree. */
export async function findLeaf(
  sql: Sql,
  reach: Reach,
  { record_id, version, leaf_index, tree_size }: InclusionQuery,
): Promise<(Leaf & TreeRow) | undefined> {
  const [leaf] = await sql<(Leaf & TreeRow)[]>`
    select l.consent_id, l.version, l.leaf_index::float8 as leaf_index, l.hash, tree.size::float8 as size, c.root_hash as root
    from ${treeOf(sql, reach.accountId, tree_size)} as tree
    cross join lateral (
      select consent_id, version, leaf_index, hash from log_entries
      where account_id = ${reach.accountId} and leaf_index < tree.size ${andOfReached(sql, reach)}
        ${leaf_index === undefined ? sql`` : sql`and leaf_index = ${leaf_index}`}
        ${record_id === undefined ? sql`` : sql`and consent_id = ${record_id}`}
        ${version === undefined ? sql`` : sql`and version = ${version}`}
      order by consent_id desc, version desc limit 1
    ) as l
    left join checkpoints c on c.account_id = ${reach.accountId} and c.tree_size = tree.size`
  return leaf
}

/** Returns a tree by its size, by default that of the newest checkpoint. */
export async function findTree(sql: Sql, accountId: string, size: number | undefined): Promise<TreeRow | undefined> {
  const [tree] = await sql<TreeRow[]>`
    select tree.size::float8 as size, c.root_hash as root from ${treeOf(sql, accountId, size)} as tree
    left join checkpoints c on c.account_id = ${accountId} and c.tree_size = tree.size`
  return tree
}

export interface PlaceRow {
  readonly consent_id: string
  readonly version: number
  readonly at: Date
  /** Null if the log lacks it. */
  readonly hash: Buffer | null
  /** Null until the entry is in the log. */
  readonly leaf_index: number | null
  readonly size: number | null
}

/** Returns the oldest first. */
export function listPlaces(sql: Sql, accountId: string, id: string): Promise<PlaceRow[]> {
  return sql<PlaceRow[]>`
    select h.consent_id, h.version, h.created_at as at, l.hash, l.leaf_index::float8 as leaf_index,
      (select tree_size::float8 from checkpoints
      where account_id = ${accountId} and tree_size > l.leaf_index order by tree_size limit 1) as size
    from consent_history h
    left join log_entries l on l.account_id = h.account_id and l.consent_id = h.consent_id and l.version = h.version
    where h.account_id = ${accountId} and h.consent_id = ${id} order by h.version`
}

export interface SubtreeRow {
  /** Size of the last checkpoint up to `until`, else 0. */
  readonly tree_size: number
  readonly frontier: Buffer | null
  /** Of the next checkpoint. */
  readonly tiles: Buffer | null
  /** Hashes of the entries of the other leaves up to `to`, one after the other. */
  readonly rest: Buffer | null
}

/** Returns rows in the order of the ranges. */
export function listSubtrees(
  sql: Sql,
  accountId: string,
  ranges: readonly { readonly from: number; readonly to: number; readonly until: number }[],
): Promise<SubtreeRow[]> {
  const column = (name: 'from' | 'to' | 'until') => toArrayLiteral(ranges.map(range => range[name]))
  return sql<SubtreeRow[]>`
    select coalesce(last.tree_size, 0)::float8 as tree_size, last.frontier, next.tiles, leaves.rest
    from unnest(${column('from')}::bigint[], ${column('to')}::bigint[], ${column('until')}::bigint[])
      with ordinality as range (first, size, until, position)
    left join lateral (
      select tree_size, frontier from checkpoints
      where account_id = ${accountId} and tree_size > 0 and tree_size <= until order by tree_size desc limit 1
    ) as last on true
    left join lateral (
      select tiles from checkpoints where account_id = ${accountId} and from_size = coalesce(last.tree_size, 0)
    ) as next on true
    cross join lateral (
      select string_agg(hash, ''::bytea order by leaf_index) as rest from log_entries
      where account_id = ${accountId} and leaf_index < size
        and leaf_index >= greatest(
          first, last.tree_size, case when first % ${tileWidth} = 0 then size / ${tileWidth} * ${tileWidth} end)
    ) as leaves
    order by position`
}

/** Joins log entries `l` with their times as `h`. `offset 0` prevents reading the whole history. */
export function withTime(sql: Sql, accountId: string): Fragment {
  return sql`left join lateral (
      (select created_at from consent_history
      where account_id = ${accountId} and consent_id = l.consent_id and version = l.version offset 0)
      union all
      (select created_at from account_entries
      where l.consent_id = ${accountId} and account_id = ${accountId} and version = l.version offset 0)
    ) h on true`
}

export interface Placed {
  /** Of the log. */
  readonly size: number
  readonly placed: number
  /** The entry of the last new leaf. */
  readonly last: readonly [id: string, version: number] | null
}

/** Fails with 23505 or 40001 if another node places entries at the same time. */
export async function placeLeaves(
  sql: Sql,
  accountId: string,
  after: Placed['last'] | undefined,
  most: number,
): Promise<Placed> {
  const [id, version] = after ?? [null, null]
  const [row] = await sql<{ placed: Placed }[]>`
    select place_leaves(${accountId}, ${id}, ${version}, ${most}) as placed`
  if (!row) throw new Error('place_leaves returned nothing')
  return row.placed
}

export interface LeafRow {
  readonly leaf_index: number
  readonly hash: Buffer | null
  readonly consent_id: string
  readonly version: number
  /** Null if the history lacks the entry. */
  readonly at: Date | null
}

export function listLeaves(
  sql: Sql,
  accountId: string,
  { from, below }: { readonly from: number; readonly below: number },
  limit: number,
): Promise<LeafRow[]> {
  return sql<LeafRow[]>`
    select l.leaf_index::float8 as leaf_index, l.hash, l.consent_id, l.version, h.created_at as at from log_entries l
    ${withTime(sql, accountId)}
    where l.account_id = ${accountId} and l.leaf_index >= ${from} and l.leaf_index < ${below}
    order by l.leaf_index limit ${limit}`
}

/** Fails with 23505 if another node has continued the same checkpoint. */
export async function insertCheckpoint(
  sql: Sql,
  { account_id, tree_size, from_size, root_hash, frontier, tiles, document, created_at }: CheckpointRow,
): Promise<void> {
  await sql`
    with added as (
      insert into checkpoints (account_id, tree_size, from_size, root_hash, frontier, tiles, document, created_at)
      values (
        ${account_id}, ${tree_size}, ${from_size}, ${root_hash}, ${frontier}, ${tiles}, ${document}, ${created_at})
      returning account_id, tree_size
    )
    update accounts a set checkpoint_size = added.tree_size from added
    where a.account_id = ${account_id} and a.account_id = added.account_id`
}

export function checkpointColumns(sql: Sql) {
  return sql`account_id, tree_size::float8 as tree_size, from_size::float8 as from_size, root_hash, frontier, tiles,
    document, created_at`
}
