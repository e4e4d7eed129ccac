import type { JSONValue, Sql } from 'postgres'

export interface SigningKey {
  readonly keyId: string
  /** 32 bytes, unless somebody has changed them. */
  readonly publicKey: Buffer | null
  readonly at: Date
}

/** Publishes a key, unless it is already. */
export async function insertSigningKey(sql: Sql, { keyId, publicKey, at }: SigningKey): Promise<void> {
  await sql`
    insert into signing_keys (key_id, public_key, created_at) values (${keyId}, ${publicKey}, ${at})
    on conflict (key_id) do nothing`
}

/** Every key that was ever published, from the newest on; before them the one with the id that is named. */
export function listSigningKeys(sql: Sql, first = ''): Promise<SigningKey[]> {
  return sql<SigningKey[]>`
    select key_id as "keyId", public_key as "publicKey", created_at as "at" from signing_keys
    order by key_id <> ${first}, created_at desc, key_id`
}

/** Whether keys are published, and none of them is one that the database keeps. */
export async function isKeyElsewhere(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (select from signing_keys) and not exists (select from secrets where name = 'signing') as found`
  return row?.found === true
}

export interface NewEntry {
  readonly consent_id: string
  readonly version: number
  readonly hash: Buffer
}

export interface CheckpointRow {
  readonly account_id: string
  readonly tree_size: number
  /** The tree size of the one before; 0 for the first. */
  readonly from_size: number
  readonly root_hash: Buffer
  /** The roots of the largest full subtrees. */
  readonly frontier: Buffer
  /** As it was signed. */
  readonly document: string
  readonly created_at: Date
}

/** The next account with entries that the log has not taken yet; undefined behind the last one. */
export async function findAccountWithNews(sql: Sql, after: string | null): Promise<string | undefined> {
  const [row] = await sql<{ account_id: string }[]>`
    select account_id from log_entries
    where leaf_index is null ${after === null ? sql`` : sql`and account_id > ${after}`}
    order by account_id limit 1`
  return row?.account_id
}

export async function findLastCheckpoint(sql: Sql, accountId: string): Promise<CheckpointRow | undefined> {
  const [row] = await sql<CheckpointRow[]>`
    select ${checkpointColumns(sql)}
    from checkpoints where account_id = ${accountId} and tree_size > 0 order by tree_size desc limit 1`
  return row
}

/** The root of the checkpoint of so many leaves. */
export async function findRoot(sql: Sql, accountId: string, size: number): Promise<Buffer | undefined> {
  const [row] = await sql<{ root_hash: Buffer }[]>`
    select root_hash from checkpoints where account_id = ${accountId} and tree_size = ${size}`
  return row?.root_hash
}

/** Entries that the log has not taken yet, in the order in which it takes them. */
export function listNewEntries(
  sql: Sql,
  accountId: string,
  after: NewEntry | undefined,
  limit: number,
): Promise<NewEntry[]> {
  return sql<NewEntry[]>`
    select consent_id, version, hash from log_entries
    where account_id = ${accountId} and leaf_index is null
      ${after ? sql`and (consent_id, version) > (${after.consent_id}::uuid, ${after.version}::integer)` : sql``}
    order by consent_id, version limit ${limit}`
}

/**
 * Gives the entries their places in the log, and writes the checkpoint that they end with, in one statement: no leaf is
 * ever without one. Where another node has gone on from the same checkpoint all of it is refused (23505).
 */
export async function insertCheckpoint(
  sql: Sql,
  { account_id, tree_size, from_size, root_hash, frontier, document, created_at }: CheckpointRow,
  entries: readonly NewEntry[],
): Promise<void> {
  const places = entries.map(({ consent_id, version }, index) => [consent_id, version, from_size + index])
  await sql`
    with new as (
      select (place->>0)::uuid as consent_id, (place->>1)::integer as version, (place->>2)::bigint as leaf_index
      from jsonb_array_elements(${sql.json(places as JSONValue)}::jsonb) as place
    ), taken as (
      update log_entries l set leaf_index = new.leaf_index from new
      where l.account_id = ${account_id} and l.consent_id = new.consent_id and l.version = new.version
        and l.leaf_index is null
    )
    insert into checkpoints (account_id, tree_size, from_size, root_hash, frontier, document, created_at)
    values (${account_id}, ${tree_size}, ${from_size}, ${root_hash}, ${frontier}, ${document}, ${created_at})`
}

/** The columns of a CheckpointRow. */
export function checkpointColumns(sql: Sql) {
  return sql`account_id, tree_size::float8 as tree_size, from_size::float8 as from_size, root_hash, frontier, document,
    created_at`
}
