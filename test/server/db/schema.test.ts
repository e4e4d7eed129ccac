import { expect, it } from 'vitest'
import { grantsFor } from '../../../server/db/grants.ts'
import { personalCircumstances } from '../../../src/contract/circumstances.ts'
import { useDatabase } from '../../support/database.ts'

const database = useDatabase()

/** Tables without an account, or by which an account is found: copied to every node of a cluster. */
const shared = ['key_statements', 'logins', 'migrations', 'secrets', 'verifications']

it('schema › every key of a tenant’s table begins with account_id', async () => {
  const keys = await database.sql<{ name: string; head: string }[]>`
    select t.relname || ' ' || k.relname as name, a.attname as head
    from pg_index i join pg_class t on t.oid = i.indrelid join pg_class k on k.oid = i.indexrelid
      join pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[0]
    where t.relnamespace = 'public'::regnamespace and t.relname <> all (${`{${shared}}`}::name[]) and i.indisunique
    union all
    select t.relname || ' ' || f.conname, a.attname || ' of ' || b.attname
    from pg_constraint f join pg_class t on t.oid = f.conrelid
      join pg_attribute a on a.attrelid = f.conrelid and a.attnum = f.conkey[1]
      join pg_attribute b on b.attrelid = f.confrelid and b.attnum = f.confkey[1]
    where t.relnamespace = 'public'::regnamespace and f.contype = 'f'`
  expect(keys.length).toBeGreaterThan(20)
  const heads = ['account_id', 'account_id of account_id']
  expect(keys.filter(({ head }) => !heads.includes(head))).toEqual([])
})

it('schema › every table has a primary key, which begins with account_id except in the known shared tables, and a grant for the service’s role', async () => {
  const tables = await database.sql<{ name: string; head: string | null }[]>`
    select t.relname as name, a.attname as head
    from pg_class t left join pg_index i on i.indrelid = t.oid and i.indisprimary
      left join pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[0]
    where t.relnamespace = 'public'::regnamespace and t.relkind = 'r'`
  expect(tables.filter(({ head }) => head === null)).toEqual([])
  const grants = grantsFor('service')
  for (const { name } of tables) expect(grants).toContain(` on ${name} to "service"`)
  const others = tables.filter(({ head }) => head !== 'account_id').map(({ name }) => name)
  expect(others.sort()).toEqual(shared)
})

it('schema › a purge strips exactly the personal circumstances of an answer', async () => {
  const [row] = await database.sql<
    { source: string }[]
  >`select prosrc as source from pg_proc where proname = 'strip_history'`
  const names = /circumstances - array\[([^\]]*)\]/.exec(row?.source ?? '')?.[1]
  expect(names).toBe(personalCircumstances.map(name => `'${name}'`).join(', '))
})
