import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { migrate, schemaVersion } from '../../../server/db/migrate.ts'
import { onCitus, useDatabase } from '../../support/database.ts'
import { emptyDatabase, readSchema } from './schema-lines.ts'

const folder = new URL('../../../server/db/migrations/', import.meta.url)
const database = useDatabase()

it('migrate › changes nothing in a migrated database', async () => {
  const before = await readSchema(database.sql)
  expect(before.length).toBeGreaterThan(50)
  await migrate(database.sql)
  await migrate(database.sql)
  expect(await readSchema(database.sql)).toEqual(before)
})

it('migrate › migrates an empty database once when eight nodes start at the same time', async () => {
  const before = await readSchema(database.sql)
  await emptyDatabase(database.sql)
  await Promise.all(Array.from({ length: 8 }, () => migrate(database.sql)))
  expect(await readSchema(database.sql)).toEqual(before)
  const names = await database.sql`select name from migrations order by name`
  expect(names.map(({ name }) => name)).toEqual(readdirSync(folder).sort())
})

it('migrate › when a migration fails, leaves the schema unchanged, and succeeds afterwards', async () => {
  const before = await readSchema(database.sql)
  await emptyDatabase(database.sql)
  await database.sql`create table secrets ()` // in the way of the baseline
  await expect(migrate(database.sql)).rejects.toMatchObject({ code: '42P07' })
  expect(await readSchema(database.sql)).toEqual([])
  await database.sql`drop table secrets`
  await migrate(database.sql)
  expect(await readSchema(database.sql)).toEqual(before)
})

it('migrate › distributes tables that already have rows, and leaves no copy on the coordinator', async () => {
  if (!onCitus()) return
  const accounts = Array.from({ length: 20 }, () => crypto.randomUUID())
  for (const id of accounts)
    await database.sql`insert into accounts (account_id, plan, created_at) values (${id}, 'free', now())`
  await migrate(database.sql)
  expect(await database.sql`select account_id from accounts`).toHaveLength(20)
  expect(await database.sql`select pg_relation_size('accounts')::integer as size`).toEqual([{ size: 0 }])
})

it('migrate › rejects a newer schema, unless that schema allows this version to run alongside', async () => {
  const { sql } = database
  await migrate(sql)
  const insert = (name: string, oldest: string | null) =>
    sql`insert into migrations (name, applied_at, oldest) values (${name}, now(), ${oldest})`
  await insert('9000_next', schemaVersion)
  await insert('9001_next', '0001_baseline')
  await migrate(sql)
  for (const oldest of [null, '9000_next']) {
    await insert('9002_next', oldest)
    await expect(migrate(sql)).rejects.toMatchObject({
      name: 'OperatorError',
      message: expect.stringContaining('the schema 9002_next of a newer version of consentctl'),
      hint: expect.stringContaining('restore a backup'),
    })
    await sql`delete from migrations where name = '9002_next'`
  }
  await sql`delete from migrations where name like '9%'`
})
