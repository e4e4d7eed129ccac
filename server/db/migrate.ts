import type { ISql, Sql, TransactionSql } from 'postgres'
import tables from './migrations/0001_tables.sql'
import idempotency from './migrations/0002_idempotency.sql'
import service from './migrations/0003_service.sql'
import evidence from './migrations/0004_evidence.sql'
import lists from './migrations/0005_lists.sql'
import keys from './migrations/0006_keys.sql'

interface Table {
  readonly name: string
  /** Whether its rows are of tenants: its primary key begins with their account. */
  readonly hasTenant: boolean
}

/**
 * Where the database is a Citus cluster's: spreads the tables of tenants over its nodes by their account, all rows of one
 * account together, and has every other table whole on each node. Tables that are so already stay as they are. Rows move
 * with their tables, and none is left in the files where it was.
 */
async function distribute(tx: TransactionSql): Promise<void> {
  const citus = await tx`select 1 from pg_extension where extname = 'citus'`
  if (citus.length === 0) return
  const tables = await findLocal(tx)
  for (const { name, hasTenant } of tables) {
    const mate = name === 'accounts' ? 'none' : 'accounts'
    if (hasTenant) await tx`select create_distributed_table(${name}, 'account_id', colocate_with => ${mate})`
    else await tx`select create_reference_table(${name})`
  }
  for (const { name } of tables) await tx`select truncate_local_data_after_distributing_table(${name})`
}

/** The tables that are on this node alone, none before one that it refers to; the one that all others go with is the first. */
function findLocal(tx: TransactionSql): Promise<Table[]> {
  return tx<Table[]>`
    with recursive placed as (
      select oid, 0 as depth from pg_class
      where relnamespace = current_schema()::regnamespace and relkind = 'r'
      union
      select f.conrelid, depth + 1 from placed join pg_constraint f on f.confrelid = placed.oid and f.contype = 'f'
    )
    select oid::regclass::text as name, exists (
      select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indrelid = placed.oid and i.indisprimary and a.attname = 'account_id'
    ) as "hasTenant"
    from placed where not exists (select from pg_dist_partition where logicalrelid = placed.oid)
    group by oid order by oid <> 'accounts'::regclass, max(depth), name`
}

/** Every change of the schema, in order; a file that was ever released is never edited. */
const migrations: readonly (readonly [name: string, statements: string])[] = [
  ['0001_tables', tables],
  ['0002_idempotency', idempotency],
  ['0003_service', service],
  ['0004_evidence', evidence],
  ['0005_lists', lists],
  ['0006_keys', keys],
]

/** What the schema of this version is called. */
export const schemaVersion = migrations.at(-1)?.[0] ?? ''

/** One number for all nodes, so that two that start together migrate one after the other. */
const lock = 7_266_328

/** Until the end of its transaction nobody else migrates, and so no other node starts. */
export async function lockSchema(tx: ISql): Promise<void> {
  await tx`select pg_advisory_xact_lock(${lock})`
}

/**
 * Brings the schema to this version, in one transaction, and does nothing where it is there already. Throws what
 * PostgreSQL throws; the schema is then as it was.
 */
export async function migrate(sql: Sql): Promise<void> {
  await sql.begin(async tx => {
    await tx`set local statement_timeout = 0`
    await lockSchema(tx)
    await tx`create table if not exists migrations (name text primary key, applied_at timestamptz not null)`
    const applied = new Set((await tx<{ name: string }[]>`select name from migrations`).map(row => row.name))
    for (const [name, statements] of migrations) {
      if (applied.has(name)) continue
      // Migrations are this project's own files, never input; a file holds several statements.
      await tx.unsafe(statements)
      await tx`insert into migrations (name, applied_at) values (${name}, now())`
    }
    await distribute(tx)
  })
}
