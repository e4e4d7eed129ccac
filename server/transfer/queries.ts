import type { ISql } from 'postgres'
import { schemaVersion } from '../db/migrate.ts'
import { type TableName, tableNames, tables } from './format.ts'

/** Lets a transaction take as long as it takes, and has every value written in one way whatever the database's settings. */
export async function settle(tx: ISql): Promise<void> {
  await tx`
    select set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true),
      set_config('timezone', 'UTC', true), set_config('bytea_output', 'hex', true)`
}

/** A migration that this version does not know: a later one has been here. */
export async function findLaterSchema(tx: ISql): Promise<string | undefined> {
  const [row] = await tx<
    { name: string }[]
  >`select name from migrations where name > ${schemaVersion} limit 1`
  return row?.name
}

/** The columns of every table, in the order of the schema. */
export async function listColumns(tx: ISql): Promise<Record<TableName, string[]>> {
  const columns = {} as Record<TableName, string[]>
  for (const table of tableNames) {
    const rows = await tx<{ name: string }[]>`
      select attname as name from pg_attribute
      where attrelid = ${table}::regclass and attnum > 0 and not attisdropped order by attnum`
    columns[table] = rows.map(({ name }) => name)
  }
  return columns
}

/** The rows of a table as JSON, page by page, within a transaction. */
export async function* readRows(tx: ISql, table: TableName): AsyncGenerator<readonly string[]> {
  await tx`
    declare exported no scroll cursor for
    select row_to_json(t)::text as row from ${tx(table)} t order by ${tables[table](tx)}`
  for (;;) {
    const rows = await tx<{ row: string }[]>`fetch 500 from exported`
    if (rows.length === 0) break
    yield rows.map(({ row }) => row)
  }
  await tx`close exported`
}

/**
 * Writes rows as they were read. Every column is named, for in another database they may stand in another order.
 */
export async function insertRows(
  tx: ISql,
  table: TableName,
  columns: readonly string[],
  rows: readonly string[],
): Promise<void> {
  const names = tx([...columns])
  await tx`
    insert into ${tx(table)} (${names})
    select ${names} from json_populate_recordset(null::${tx(table)}, ${`[${rows.join(',')}]`}::json)`
}

/** How many rows each table has. */
export async function countRows(tx: ISql): Promise<Record<TableName, number>> {
  const counts = {} as Record<TableName, number>
  for (const table of tableNames) {
    const [row] = await tx<{ count: string }[]>`select count(*) from ${tx(table)}`
    counts[table] = Number(row?.count)
  }
  return counts
}

/** The first table that has any rows. */
export async function findFilled(tx: ISql): Promise<TableName | undefined> {
  for (const table of tableNames) {
    const [row] = await tx`select 1 from ${tx(table)} limit 1` // Citus 13 fails on "exists (select from …)"
    if (row) return table
  }
  return undefined
}
