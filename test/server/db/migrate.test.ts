import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { adoptAccounts, migrate, schemaVersion } from '../../../server/db/migrate.ts'
import { OperatorError } from '../../../src/contract/index.ts'
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
  expect(names.map(({ name }) => `${name}.sql`)).toEqual(readdirSync(folder).sort())
})

it('migrate › leaves the schema as it was when a migration fails, and succeeds afterwards', async () => {
  const before = await readSchema(database.sql)
  await emptyDatabase(database.sql)
  await database.sql`create table secrets ()` // in the way of the last table
  await expect(migrate(database.sql)).rejects.toMatchObject({ code: '42P07' })
  expect(await readSchema(database.sql)).toEqual([])
  await database.sql`drop table secrets`
  await migrate(database.sql)
  expect(await readSchema(database.sql)).toEqual(before)
})

it('migrate › keeps every row of the first version', async () => {
  const { sql } = database
  await emptyDatabase(database.sql)
  await sql.unsafe(readFileSync(new URL('0001_tables.sql', folder), 'utf8'))
  await sql`create table migrations (name text primary key, applied_at timestamptz not null)`
  await sql`insert into migrations values ('0001_tables', now())`
  const accounts = Array.from({ length: 20 }, () => crypto.randomUUID())
  const recordOf = (id: string) => id.replace(/^.{8}/, '00000000')
  for (const id of accounts) {
    await sql`insert into accounts values (${id}, 'free', 10, now())`
    await sql`insert into users values (${id}, ${id}, 'none', now())`
    await sql`insert into logins values (${`${id}@example.com`}, ${id}, ${id})`
    await sql`insert into sites values (${id}, ${id}, 'a site', '\\x01', 1, now())`
    await sql`
      insert into consents values (${id}, ${recordOf(id)}, ${id}, null, 'maria', null, null, null, null, true, '{}', 1, 1, '\\x02',
        '\\x03', now(), now())`
    await sql`
      insert into consent_history values (${id}, ${recordOf(id)}, 1, 'created', true, '{}', 1, 'user', null, now(), null, '\\x04',
        '\\x05')`
  }
  await migrate(sql)
  for (const id of accounts) {
    const [row] = await sql`
      select l.email, u.session_version, s.retention_days, t.token_hash, c.subject_id, h.action, e.hash
      from accounts a join users u on u.account_id = a.account_id join logins l on l.account_id = a.account_id
        join sites s on s.account_id = a.account_id join site_tokens t on t.account_id = a.account_id
        join consents c on c.account_id = a.account_id join consent_history h on h.account_id = a.account_id
        join log_entries e on e.account_id = a.account_id and e.consent_id = c.id
      where a.account_id = ${id}`
    const [token_hash, hash] = [Buffer.from([1]), Buffer.from([5])]
    const other = { session_version: 1, retention_days: null, subject_id: 'maria', action: 'created' }
    expect(row).toEqual({ email: `${id}@example.com`, token_hash, hash, ...other })
  }
  for (let round = 0; round < 10; round += 1) {
    await sql`delete from account_entries`
    await sql`delete from log_entries where consent_id = account_id and version = 1 and hash <> '\\x05'`
    await sql`update accounts set entries = 0`
    await adoptAccounts(sql)
    const other = await sql`
      select document from account_entries where (document::jsonb->>'at')::timestamptz <> created_at`
    expect(other, 'entries of another time than their column').toEqual([])
  }
  if (!onCitus()) return
  // Of what went to other nodes nothing is left behind.
  expect(await sql`select pg_relation_size('consents')::integer as size`).toEqual([{ size: 0 }])
})

it('migrate › refuses a schema of a newer version, unless that allows this version to run beside it', async () => {
  const { sql } = database
  await migrate(sql)
  const insert = (name: string, oldest: string | null) =>
    sql`insert into migrations (name, applied_at, oldest) values (${name}, now(), ${oldest})`
  await insert('9000_next', schemaVersion)
  await insert('9001_next', '0001_tables')
  await migrate(sql)
  for (const oldest of [null, '9000_next']) {
    await insert('9002_next', oldest)
    const error = await migrate(sql).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(OperatorError)
    expect((error as OperatorError).message).toContain('the schema 9002_next of a newer version of consentctl')
    expect((error as OperatorError).hint).toContain('restore a backup')
    await sql`delete from migrations where name = '9002_next'`
  }
  await sql`delete from migrations where name like '9%'`
})

it('migrate › adds the column of compatible versions to a database of the first version', async () => {
  await database.sql`alter table migrations drop column oldest`
  const before = await readSchema(database.sql)
  await migrate(database.sql)
  expect(await readSchema(database.sql)).toEqual([...before, 'migrations oldest text YES'].sort())
})
