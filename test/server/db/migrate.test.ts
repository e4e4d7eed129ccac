import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { migrate } from '../../../server/db/migrate.ts'
import { useDatabase } from '../../support/database.ts'

const folder = new URL('../../../server/db/migrations/', import.meta.url)
const database = useDatabase()

it('leaves a migrated database as it is', async () => {
  const before = await schema()
  expect(before.length).toBeGreaterThan(50)
  await migrate(database.sql)
  await migrate(database.sql)
  expect(await schema()).toEqual(before)
})

it('migrates an empty database once, when eight nodes start together', async () => {
  const before = await schema()
  await empty()
  await Promise.all(Array.from({ length: 8 }, () => migrate(database.sql)))
  expect(await schema()).toEqual(before)
  const names = await database.sql`select name from migrations order by name`
  expect(names.map(({ name }) => `${name}.sql`)).toEqual(readdirSync(folder).sort())
})

it('leaves a database as it was when a migration fails, and migrates it after that', async () => {
  const before = await schema()
  await empty()
  await database.sql`create table secrets ()` // in the way of the last table
  await expect(migrate(database.sql)).rejects.toMatchObject({ code: '42P07' })
  expect(await schema()).toEqual([])
  await database.sql`drop table secrets`
  await migrate(database.sql)
  expect(await schema()).toEqual(before)
})

async function empty(): Promise<void> {
  await database.sql`drop schema public cascade`
  await database.sql`create schema public`
}

/** Every column and index, and when each migration was applied but for the clock. */
async function schema(): Promise<string[]> {
  const rows = await database.sql<{ line: string }[]>`
    select concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) as line
    from information_schema.columns where table_schema = 'public'
    union all select indexdef from pg_indexes where schemaname = 'public'
    order by 1`
  return rows.map(({ line }) => line)
}
