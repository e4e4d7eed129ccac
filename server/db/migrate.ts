import type { ISql, Sql } from 'postgres'
import { distribute } from './citus.ts'
import tables from './migrations/0001_tables.sql'
import idempotency from './migrations/0002_idempotency.sql'
import service from './migrations/0003_service.sql'
import evidence from './migrations/0004_evidence.sql'
import lists from './migrations/0005_lists.sql'
import keys from './migrations/0006_keys.sql'

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
