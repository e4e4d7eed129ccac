import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type Migration, migrate } from '../../../server/db/migrate.ts'
import { useDatabase } from '../../support/database.ts'
import { emptyDatabase, readSchema } from './schema-lines.ts'

const first: Migration = [
  '0001_first',
  [
    `create table accounts (account_id uuid primary key);
    create table records (account_id uuid not null, id integer not null, name text, primary key (account_id, id));
    create table totals (account_id uuid primary key);`,
  ],
]

/** Alters tables in use, adds indexes one by one, and ends with a table that a read can hold back. */
const later: readonly Migration[] = [
  ['0002_column', ['alter table records add column note text'], '0001_first'],
  [
    '0003_indexes',
    [
      'create index if not exists records_by_name on records (account_id, name)',
      'create index if not exists records_by_note on records (account_id, note)',
    ],
    '0001_first',
  ],
  ['0004_notes', ['create table notes (account_id uuid primary key, text text)'], '0001_first'],
  ['0005_totals', ['alter table totals add column count bigint not null default 0'], '0001_first'],
]

const all = [first, ...later]

const hasSessions = process.env['TEST_ENGINE'] === 'postgres'

describe.skipIf(!hasSessions)('migrate › alongside nodes of the previous version', () => {
  const database = useDatabase()

  /** Makes the schema of the first `count` migrations, and returns the lines of the newest. */
  async function startWith(count: number): Promise<string[]> {
    const { sql } = database
    await emptyDatabase(sql)
    await migrate(sql, { known: all })
    const newest = await readSchema(sql)
    await emptyDatabase(sql)
    await migrate(sql, { known: all.slice(0, count) })
    return newest
  }

  /** Migrates while a session holds locks for a time. Returns the slowest of other requests meanwhile, and the waits told. */
  async function migrateBeside(lock: string, ms: number) {
    const { sql } = database
    const waits: (string | null)[] = []
    let migrating: Promise<void> | undefined
    let slowestMs = 0
    await sql.begin(async session => {
      await session.unsafe(lock)
      migrating = migrate(sql, { known: all, onWait: what => waits.push(what) })
      migrating.catch(() => {})
      const until = performance.now() + ms
      while (performance.now() < until) {
        const start = performance.now()
        await Promise.all([sql`select from records`, sql`update records set name = name`, sql`select from totals`])
        slowestMs = Math.max(slowestMs, performance.now() - start)
        await delay(20)
      }
    })
    await migrating
    return { slowestMs, told: waits.filter(what => what !== null), last: waits.at(-1) }
  }

  it.each([
    ['a long read, such as a backup', 1, 'select from records, totals'],
    ['a read of the last table of a migration', 4, 'select from totals'],
  ])('does not block requests until %s has ended, and logs once that it waits', async (_name, count, read) => {
    const newest = await startWith(count)
    const { slowestMs, told, last } = await migrateBeside(read, 2800)
    expect(slowestMs).toBeLessThan(1200)
    expect(told).toHaveLength(1)
    expect(last).toBeNull()
    expect(await readSchema(database.sql)).toEqual(newest)
  })

  it('waits for a vacuum without blocking requests, until autovacuum would yield', async () => {
    const newest = await startWith(2)
    const vacuum = 'lock table records in share update exclusive mode'
    const { slowestMs, told } = await migrateBeside(vacuum, 900)
    expect(slowestMs).toBeLessThan(700)
    expect(told).toEqual([])
    expect(await readSchema(database.sql)).toEqual(newest)
  })

  it('has the schema of a new database after four nodes migrate it concurrently and are killed five times', async () => {
    const { sql } = database
    const newest = await startWith(1)
    const steps = Array.from({ length: 40 }, (_, at): Migration => [`0006_${at + 100}`, ['select pg_sleep(0.02)']])
    let kills = 0
    let isDone = false
    const start = async (): Promise<void> => {
      await migrate(sql, { known: [...all, ...steps] }).catch(async (error: { code?: string }) => {
        if (!/^(57P01|CONNECTION_CLOSED|ECONNRESET)$/.test(error.code ?? '')) throw error
        await start()
      })
    }
    const kill = async () => {
      while (!isDone && kills < 5) {
        await delay(40)
        const killed = await sql`
          select pg_terminate_backend(pid) from pg_locks
          where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`
        kills += killed.length
      }
    }
    const killing = kill()
    await Promise.all([start(), start(), start(), start()]).finally(() => {
      isDone = true
    })
    await killing
    expect(kills).toBe(5)
    expect(await readSchema(sql)).toEqual(newest)
  })

  it('keeps the migrations before a failure, and continues after it', async () => {
    const { sql } = database
    await startWith(1)
    const applied = async () => (await sql`select name from migrations order by name desc limit 1`)[0]?.['name']
    await sql`create table notes ()` // in the way of 0004
    await expect(migrate(sql, { known: all })).rejects.toMatchObject({ code: '42P07' })
    expect(await applied()).toBe('0003_indexes')
    await sql`drop table notes`
    await sql`delete from migrations where name = '0003_indexes'` // killed between its last step and its record
    await sql`drop index records_by_note`
    await migrate(sql, { known: all })
    expect(await applied()).toBe('0005_totals')
    expect(await sql`select 1 from pg_indexes where indexname = 'records_by_note'`).toHaveLength(1)
  })
})
