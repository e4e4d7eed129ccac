import type { ISql, Sql } from 'postgres'
import { auditEntry, lockedAccount, machine, target } from '../audit/entries.ts'
import { schemaVersion } from '../db/migrate.ts'
import { redactions, type TableName, tableNames, tables } from './format.ts'

/** Removes a transaction's timeouts, and fixes value formats. */
export async function configure(tx: ISql): Promise<void> {
  await tx`
    select set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true),
      set_config('timezone', 'UTC', true), set_config('bytea_output', 'hex', true)`
}

export async function findLaterSchema(tx: ISql): Promise<string | undefined> {
  const [row] = await tx<{ name: string }[]>`select name from migrations where name > ${schemaVersion} limit 1`
  return row?.name
}

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

/** Of the table itself: Citus loses the names of a subquery's columns. */
export async function* readRows(
  tx: ISql,
  table: TableName,
  withoutSecrets: boolean,
): AsyncGenerator<readonly string[]> {
  const redacted = withoutSecrets ? redactions[table] : undefined
  if (redacted === null) return
  const row = redacted ? tx`row_to_json(t)::jsonb || ${redacted(tx)}` : tx`row_to_json(t)`
  await tx`
    declare exported no scroll cursor for
    select (${row})::text as row from ${tx(table)} t order by ${tables[table](tx)}`
  for (;;) {
    const rows = await tx<{ row: string }[]>`fetch 500 from exported`
    if (rows.length === 0) break
    yield rows.map(({ row }) => row)
  }
  await tx`close exported`
}

/** Names every column, because their order differs between databases. */
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

export async function countRows(tx: ISql): Promise<Record<TableName, number>> {
  const counts = {} as Record<TableName, number>
  for (const table of tableNames) {
    const [row] = await tx<{ count: string }[]>`select count(*) from ${tx(table)}`
    counts[table] = Number(row?.count)
  }
  return counts
}

export async function findFilled(tx: ISql): Promise<TableName | undefined> {
  for (const table of tableNames) {
    const [row] = await tx`select 1 from ${tx(table)} limit 1` // Citus 13 fails on "exists (select from …)"
    if (row) return table
  }
  return undefined
}

export async function recordImport(
  tx: ISql,
  { exportedAt, sha256 }: { readonly exportedAt: string; readonly sha256: string },
): Promise<void> {
  const accounts = await tx<{ account_id: string }[]>`select account_id from accounts order by account_id`
  const sql = tx as Sql
  for (const { account_id: accountId } of accounts) {
    await sql`
      with ${lockedAccount(sql, accountId)}, change as (
        select ${target(sql, 'account', accountId)} as target, null::jsonb as before,
          jsonb_build_object('exported_at', ${exportedAt}::text, 'sha256', ${sha256}::text) as after
        from account
      ), ${auditEntry(sql, { accountId, actor: machine, action: 'imported', at: new Date() })}
      select 1 from account`
  }
}
