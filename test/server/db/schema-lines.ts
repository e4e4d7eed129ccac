import type { Sql } from 'postgres'

export async function emptyDatabase(sql: Sql): Promise<void> {
  const tables = await sql<{ name: string }[]>`select tablename as name from pg_tables where schemaname = 'public'`
  for (const { name } of tables) await sql`drop table ${sql(name)} cascade`
}

/** Returns a line for each column, index and constraint, without those of a cluster's shards. */
export async function readSchema(sql: Sql): Promise<string[]> {
  const rows = await sql<{ line: string }[]>`
    select concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) as line
    from information_schema.columns where table_schema = 'public'
      and table_name in (select tablename from pg_tables)
    union all select indexdef from pg_indexes where schemaname = 'public'
    union all select concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
    from pg_constraint where connamespace = 'public'::regnamespace and conrelid::regclass::text !~ '_[0-9]{6}$'
    order by 1`
  return rows.map(({ line }) => line)
}
